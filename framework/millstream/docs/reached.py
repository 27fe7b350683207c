"""What unit tests reach of each model, as measured by `millstream test --coverage`."""

from __future__ import annotations

from millstream.docs.material import Material
from millstream.docs.values import Coverage, MissedWay


def reached(material: Material) -> dict[str, Coverage]:
    """Return the coverage of each model, without lines if its file has changed since."""
    nodes, tests = material.manifest.nodes, material.tests
    found: dict[str, Coverage] = {}
    for each in tests.coverage if tests else ():
        if each.id in nodes:
            stale = each.checksum != nodes[each.id].checksum
            missed = tuple(MissedWay(0 if stale else way.line, way.said) for way in each.missed)
            found[each.id] = Coverage(each.tests, each.ways, each.reached, each.run, stale, missed)
    return found
