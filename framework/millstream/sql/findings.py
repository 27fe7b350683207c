"""Collects the findings of one model's SQL: errors, opaque parts, and marks for reading it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.core.node_id import NodeId
from millstream.project.values import Function
from millstream.sql.clauses import SqlTokens
from millstream.sql.query import Form, FormKind
from millstream.sql.token_roles import TokenRoles
from millstream.sql.values import SqlCast, SqlDiagnostic

if TYPE_CHECKING:
    from millstream.sql.result import BoundQuery
    from millstream.sql.scope import Scope


class Findings:
    """What all expressions of one model share: its SQL, its functions, and the findings so far."""

    def __init__(
        self,
        sql: str,
        source: SqlTokens,
        functions: Mapping[str, Function],
        variant_paths: AbstractSet[int],
        subquery: Callable[[exp.Expr, Scope | None], BoundQuery],
    ) -> None:
        self.sql = sql
        self.source = source
        """The tokens of the SQL."""
        self.functions = functions
        self.variant_paths = variant_paths
        self.subquery = subquery
        self.diagnostics: list[SqlDiagnostic] = []
        self.opaque: list[str] = []
        self.unsplit = False
        """A part is opaque over rows at rest, too."""
        self.called: set[str] = set()
        self.casts: list[SqlCast] = []
        self._forms: list[tuple[FormKind, AbstractSet[NodeId], AbstractSet[NodeId], int, int]] = []
        self.marks = TokenRoles(variant_paths)

    def report(self, node: exp.Expr, code: str, message: str, remedy: str = "", needle: str = "") -> None:
        self.report_at(*span_of(node, self.sql), code, message, remedy, needle)

    def report_at(
        self, start: int, stop: int, code: str, message: str, remedy: str = "", needle: str = ""
    ) -> None:
        diagnostic = SqlDiagnostic(code, message, remedy, start, stop, needle or self.sql[start:stop])
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    def add_form(
        self,
        kind: FormKind,
        where: exp.Expr | tuple[int, int],
        reads: AbstractSet[NodeId],
        others: AbstractSet[NodeId] = frozenset(),
    ) -> None:
        """Record a construct that needs more than one row; `reads` may still grow."""
        start, stop = where if isinstance(where, tuple) else span_of(where, self.sql)
        self._forms.append((kind, reads, others, start, stop))

    @property
    def forms(self) -> tuple[Form, ...]:
        forms = (
            Form(kind, tuple(sorted(reads)), tuple(sorted(others)), start, stop)
            for kind, reads, others, start, stop in self._forms
        )
        return tuple(dict.fromkeys(forms))

    def mark_opaque(self, node: exp.Expr, reason: str, *, at_rest: bool = True) -> None:
        """Record why a part is opaque, with its SQL; without `at_rest`, only over a stream."""
        self.unsplit |= at_rest
        start, stop = span_of(node, self.sql)
        line = self.sql.count("\n", 0, start) + 1
        text = f"{reason} (line {line} of the compiled SQL: {self.sql[start:stop]})"
        if text not in self.opaque:
            self.opaque.append(text)


def span_of(node: exp.Expr, sql: str) -> tuple[int, int]:
    """Return the span of a node: of its own name, or of the leaves below it."""
    is_call = isinstance(node, exp.Anonymous) and "start" in node.meta
    metas = [part.meta for part in ([node] if is_call else node.walk()) if part.meta]
    spans = [(meta["start"], meta["end"] + 1) for meta in metas if "start" in meta]
    if not spans:
        return 0, min(1, len(sql))
    return min(start for start, _ in spans), max(stop for _, stop in spans)
