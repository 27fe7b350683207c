"""What unit tests run over, as digests: one that passed passes again while its digest is the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from millstream.graph import build_graph
from millstream.manifest import Compiled
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project, UnitTest
from millstream.sql.changing import changing_function
from millstream.testing.digests import digest
from millstream.testing.units.rows import fixture_file
from millstream.topology import read_catalog

_OVERRIDES = ("vars", "env_vars")
"""What a test overrides in the whole project, which is then compiled for it alone."""


def unit_contents(project: Project, compiled: Compiled, ids: Iterable[str]) -> dict[str, str]:
    """Return a digest for each unit test whose result depends on nothing but the project's files."""
    catalog, above = read_catalog(compiled), build_graph(compiled.manifest.nodes).ancestors
    tests = {f"unit_test.{unit.model}.{unit.name}": unit for unit in project.unit_tests}
    found: dict[str, str | None] = {}
    for id_ in ids:
        unit, model = tests[id_], f"model.{tests[id_].model}"
        relations = sorted({model, *above(model)})
        sql = (compiled.sql.get(each, "") for each in relations)
        if not _overrides(unit.body) and not any(map(changing_function, sql)):
            found[id_] = _digest(Path(project.root), unit, catalog, relations)
    return {id_: known for id_, known in found.items() if known}


def _overrides(body: Mapping[str, Any]) -> bool:
    return bool({*body, *(body.get("overrides") or {})} & {*_OVERRIDES})


def _digest(root: Path, unit: UnitTest, catalog: Catalog, relations: Iterable[str]) -> str | None:
    parts: list[Any] = [unit.model, unit.chain, repr(unit.body), catalog.target, catalog.functions]
    for id_ in relations:
        parts += [id_, catalog.topics.get(id_), catalog.seeds.get(id_), catalog.models.get(id_)]
    files = [fixture_file(root, name) for name in _fixtures(unit.body)]
    return digest([*parts, *(file and file.read_bytes() for file in files)])


def _fixtures(body: Any) -> Iterator[str]:
    match body:
        case {**fields}:
            if fields.get("fixture"):
                yield str(fields["fixture"])
            for each in fields.values():
                yield from _fixtures(each)
        case [*items]:
            for each in items:
                yield from _fixtures(each)
