"""A compiled project as rules see it: models with columns, types, lineage, SQL as values, and the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from millstream.compile.cache import read_cache
from millstream.compile.manifest import Compiled, ManifestColumn, ManifestNode
from millstream.compile.models import ModelCompiler
from millstream.compile.native_functions import find_obstacles
from millstream.core.errors import Diagnostic
from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.lint.values import Finding
from millstream.native import Obstacle
from millstream.outputs.kinds import View
from millstream.outputs.registry import materialization_of
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.nodes import Plan
from millstream.plan.traits import Traits
from millstream.project.rendered_models import RenderedModels
from millstream.project.templates import Rendered
from millstream.project.values import Project
from millstream.queries.topology import read_catalog, written_plan
from millstream.sql.query import DerivedTable, Select, SqlUnion
from millstream.sql.values import SqlCast


class LintModel:
    """One model, with what the compiler knows of it."""

    def __init__(self, project: LintProject, node: ManifestNode, spec: ModelSpec) -> None:
        self.project = project
        self.node = node
        self.spec = spec
        """Its SQL as values, `spec.query`, and its options."""

    @property
    def id(self) -> NodeId:
        return self.node.id

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def path(self) -> str:
        return self.node.path

    @property
    def columns(self) -> tuple[ManifestColumn, ...]:
        """The columns with type, description, and the columns that they are computed from."""
        return self.node.columns

    @property
    def sql(self) -> str:
        """The compiled SQL, in which findings have their spans."""
        return self.project.compiled.sql[self.id]

    @property
    def stored(self) -> bool:
        """Whether its rows leave the project's queries: in a topic, a table, or a Python function."""
        return not isinstance(self.spec.materialization, View)

    @property
    def traits(self) -> Traits | None:
        """The mode, key and event times of its rows."""
        return self.project.traits.get(self.id)

    @property
    def readers(self) -> tuple[ManifestNode, ...]:
        """The models, exposures and metrics that read it."""
        return self.project.readers.get(self.id, ())

    @property
    def tests(self) -> tuple[ManifestNode, ...]:
        """Its data tests."""
        return self.project.tests.get(self.id, ())

    @cached_property
    def selects(self) -> tuple[Select, ...]:
        """Each SELECT of the SQL, also those of CTEs and subqueries in FROM; none if it is opaque."""
        return tuple(_selects(self.spec.query))

    @cached_property
    def names(self) -> frozenset[str]:
        """The columns that its SQL names anywhere, in lower case; not those of `*`."""
        sql = self.sql
        return frozenset(
            name
            for expression in _expressions(self.spec.query)
            if not sql[expression.start : expression.stop].endswith("*")
            for name in expression.folded
        )

    @property
    def casts(self) -> tuple[SqlCast, ...]:
        """The casts in the SQL, with the types of what they convert."""
        return self.project.casts(self)

    def finding(
        self,
        message: str,
        help: str = "",  # noqa: A002 - as in a finding
        *,
        column: str = "",
        span: tuple[int, int] = (0, 0),
    ) -> Finding:
        """Return a finding at a column of the SELECT, or at a span of the compiled SQL."""
        if column and span == (0, 0):
            span = self._span_of(column)
        return Finding(self.id, message, help, *span)

    def _span_of(self, column: str) -> tuple[int, int]:
        body = self.spec.query.body
        items = body.items if isinstance(body, Select) else ()
        written = (item.expression for item in items if item.name.lower() == column.lower())
        return next(((expression.start, expression.stop) for expression in written), (0, 0))


class LintProject:
    """All models of a valid project."""

    def __init__(self, root: Path, compiled: Compiled, project: Project) -> None:
        self.root = root
        self.compiled = compiled
        self.settings = project.settings
        self.target = project.target
        self.project = project
        self.catalog: Catalog = read_catalog(compiled)
        nodes = compiled.manifest.nodes
        self.models = {
            id_.name: LintModel(self, nodes[id_], spec) for id_, spec in self.catalog.models.items()
        }
        """By name, each after those that it reads."""
        self.readers = _by_read(
            node for node in nodes.values() if node.kind in {"model", "exposure", "metric"}
        )
        self.tests = _by_read(node for node in nodes.values() if node.kind == "test")

    @cached_property
    def plan(self) -> Plan:
        """The plan as written."""
        return written_plan(self.catalog)

    @cached_property
    def obstacles(self) -> Mapping[str, Obstacle]:
        """Why functions run in Python, by their names."""
        functions = self.project.functions.values()
        return find_obstacles(self.root, {f.name: (f.path, f.runs) for f in functions if not f.keyed})

    @cached_property
    def _compiler(self) -> ModelCompiler:
        cache = read_cache(self.root / self.settings.target_path)
        models = ModelCompiler(self.project, cache.models, lambda *_: None, frozenset())
        models.render_all()
        models.analyse_all(list(self.catalog.models))
        return models

    @cached_property
    def traits(self) -> Mapping[NodeId, Traits | None]:
        return {model.id: model.traits for model in self._compiler.models.values()}

    @cached_property
    def _rendered(self) -> RenderedModels:
        return RenderedModels(self.project)

    def rendered(self, model: NodeId) -> Rendered | None:
        return self._rendered.of(model.name)

    def casts(self, model: LintModel) -> tuple[SqlCast, ...]:
        rendered = self.rendered(model.id)
        if rendered is None:
            return ()
        text = materialization_of(model.name, dict(model.node.config)).at_rest
        return self._compiler.analysed(rendered, model_name=model.name, text=text).casts

    def locate(self, rule: str, finding: Finding) -> Diagnostic:
        """Return a finding as a warning at its place in the files."""
        if finding.location is not None:
            return Diagnostic(rule, finding.message, finding.location, finding.help, severity="warning")
        rendered = self.rendered(finding.model)
        if rendered is None or finding.stop <= finding.start:
            path = self.compiled.manifest.nodes[finding.model].path
            return self._rendered.at_first_line(path, rule, finding.message, finding.help)
        location, line, notes = self._rendered.renderer.locate(rendered, finding.start, finding.stop)
        if not location.path:
            path = self.compiled.manifest.nodes[finding.model].path
            return self._rendered.at_first_line(path, rule, finding.message, finding.help)
        return Diagnostic(rule, finding.message, location, finding.help, line, tuple(notes), "warning")


def _by_read(nodes: Iterator[ManifestNode]) -> dict[NodeId, tuple[ManifestNode, ...]]:
    readers: dict[NodeId, list[ManifestNode]] = {}
    for node in nodes:
        for read in node.depends_on:
            readers.setdefault(read, []).append(node)
    return {id_: tuple(of_node) for id_, of_node in readers.items()}


def _expressions(value: object) -> Iterator[Expression]:
    """Yield all expressions within a query."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Expression):
            yield part
        elif isinstance(part, Struct):
            waiting += [getattr(part, name) for name in part.__struct_fields__]
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, tuple | list):
            waiting += part


def _selects(query: object) -> Iterator[Select]:
    bodies = [getattr(query, "body", None), *getattr(query, "ctes", {}).values()]
    while bodies:
        body = bodies.pop()
        match body:
            case Select():
                yield body
                bodies += [
                    source.input.query for source in body.relations if isinstance(source.input, DerivedTable)
                ]
            case SqlUnion():
                bodies += body.sides
            case _:
                pass
