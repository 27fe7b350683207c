"""What unit tests reach of each model, where somebody asked: `millstream test --coverage`."""

from __future__ import annotations

from millstream.docs.material import Material
from millstream.docs.values import Coverage, MissedWay


def reached(material: Material) -> dict[str, Coverage]:
    """Return by id of a model what was measured; lines only while its file is as it was then."""
    nodes, tests = material.manifest.nodes, material.tests
    found: dict[str, Coverage] = {}
    for each in tests.coverage if tests else ():
        if each.id in nodes:
            stale = each.checksum != nodes[each.id].checksum
            missed = tuple(MissedWay(0 if stale else way.line, way.said) for way in each.missed)
            found[each.id] = Coverage(each.tests, each.ways, each.reached, each.run, stale, missed)
    return found
