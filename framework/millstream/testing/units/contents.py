"""What unit tests run over, as digests: one that passed passes again while its digest is the same."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from millstream.compile.graph import build_graph
from millstream.compile.manifest import Compiled
from millstream.compile.snapshot import inputs_digest
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project, UnitTest
from millstream.queries.topology import read_catalog
from millstream.sql.changing_functions import changing_function
from millstream.testing.digests import digest_values
from millstream.testing.units.rows import fixture_file

_OVERRIDES = ("vars", "env_vars")
"""What a test overrides in the whole project, which is then compiled for it alone."""
_VARYING = re.compile(
    r"\b(now|utcnow|today|monotonic|perf_counter|time\.time|localtime|random|urandom|secrets|uuid\d?"
    r"|environ|getenv|urllib|urlopen|requests|httpx|socket|subprocess)\b"
)
"""Names in Python whose values may change although no file does."""


def unit_contents(project: Project, compiled: Compiled, ids: Iterable[NodeId]) -> dict[NodeId, str]:
    """Return a digest for each unit test whose result depends on nothing but the project's files."""
    tests = {NodeId("unit_test", f"{unit.model}.{unit.name}"): unit for unit in project.unit_tests}
    dependencies = _Dependencies(
        project, compiled, read_catalog(compiled), build_graph(compiled.manifest.nodes).ancestors
    )
    digests = {id_: dependencies.digest(tests[id_]) for id_ in ids}
    return {id_: digest for id_, digest in digests.items() if digest}


class _Dependencies:
    """What decides the results of tests."""

    def __init__(
        self,
        project: Project,
        compiled: Compiled,
        catalog: Catalog,
        above: Callable[[NodeId], frozenset[NodeId]],
    ) -> None:
        self._project = project
        self._compiled = compiled
        self._catalog = catalog
        self._above = above
        self._root = Path(project.root)
        self._digests: dict[NodeId, str | None] = {}
        """Of relations."""

    def digest(self, unit: UnitTest) -> str | None:
        """Return a digest; None if more than files decides."""
        model = NodeId("model", unit.model)
        relations = sorted({model, *self._above(model)})
        made_from = self._whole_project if _overrides(unit.body) else self._relations(relations)
        if made_from is None or self._python_varies(relations):
            return None
        files = [fixture_file(self._root, name) for name in _fixtures(unit.body)]
        contents = (file and file.read_bytes() for file in files)
        return digest_values([unit.model, unit.chain, repr(unit.body), *made_from, *contents])

    def _relations(self, relations: Iterable[NodeId]) -> list[Any] | None:
        """Return what relations are made from; None if their SQL depends on the clock or on chance."""
        digests = [self._relation(id_) for id_ in relations]
        return None if None in digests else [self._catalog.target, self._catalog.functions, *digests]

    def _relation(self, id_: NodeId) -> str | None:
        if id_ not in self._digests:
            catalog = self._catalog
            spec = (id_, catalog.sources.get(id_), catalog.seeds.get(id_), catalog.models.get(id_))
            # Expressions are also in data tests and options.
            texts = (self._compiled.sql.get(id_, ""), str(spec).translate(_UNQUOTED))
            self._digests[id_] = None if any(map(changing_function, texts)) else digest_values(spec)
        return self._digests[id_]

    @cached_property
    def _whole_project(self) -> list[Any] | None:
        """Return all that a compile reads: with other variables, models may read and call anything else."""
        project = self._project
        templates = (
            file.content.translate(_UNQUOTED) for file in (*project.models.values(), *project.macros)
        )
        if any(map(changing_function, templates)):
            return None
        environment = [os.environ.get(name) for name in project.settings.env_vars]
        inputs = inputs_digest(self._root, project.settings, project.target, project.vars)
        return [inputs, environment, project.imported, project.libraries]

    def _python_varies(self, relations: Iterable[NodeId]) -> bool:
        called = {name for id_ in relations for name in self._compiled.manifest.nodes[id_].functions}
        paths = {self._project.functions[name].path for name in called}
        paths.update(path for path in self._project.imported if called and path.endswith(".py"))
        texts = ((self._root / path).read_text("utf-8", errors="replace") for path in sorted(paths))
        return any(map(_VARYING.search, texts))


_UNQUOTED = str.maketrans(dict.fromkeys("'\"`", " "))
"""In templates, a quote may be an apostrophe in a comment: what follows it is not a text."""


def _overrides(body: Mapping[str, Any]) -> bool:
    return bool({*body, *(body.get("overrides") or {})} & {*_OVERRIDES})


def _fixtures(body: Any) -> Iterator[str]:
    match body:
        case {**fields}:
            if fields.get("fixture"):
                yield str(fields["fixture"])
            for part in fields.values():
                yield from _fixtures(part)
        case [*items]:
            for part in items:
                yield from _fixtures(part)
