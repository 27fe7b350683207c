"""What all expressions of one model share: its SQL, its functions, and the problems that are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.project.values import Function
from millstream.sql.clauses import Source
from millstream.sql.marks import Marks
from millstream.sql.query import Form, FormKind
from millstream.sql.values import Problem

if TYPE_CHECKING:
    from millstream.sql.result import Result
    from millstream.sql.scope import Scope


class Findings:
    """Where a model's expressions report to."""

    def __init__(
        self,
        sql: str,
        source: Source,
        functions: Mapping[str, Function],
        variant_paths: AbstractSet[int],
        subquery: Callable[[exp.Expr, Scope | None], Result],
    ) -> None:
        self.sql = sql
        self.source = source
        """The tokens of the SQL."""
        self.functions = functions
        self.variant_paths = variant_paths
        self.subquery = subquery
        self.problems: list[Problem] = []
        self.opaque: list[str] = []
        self.called: set[str] = set()
        self._forms: list[tuple[FormKind, AbstractSet[str], AbstractSet[str], int, int]] = []
        self.marks = Marks(variant_paths)

    def problem(self, node: exp.Expr, code: str, message: str, remedy: str = "", needle: str = "") -> None:
        self.problem_at(*extent(node, self.sql), code, message, remedy, needle)

    def problem_at(
        self, start: int, stop: int, code: str, message: str, remedy: str = "", needle: str = ""
    ) -> None:
        found = Problem(code, message, start, stop, remedy, needle or self.sql[start:stop])
        if found not in self.problems:
            self.problems.append(found)

    def form(
        self,
        kind: FormKind,
        place: exp.Expr | tuple[int, int],
        reads: AbstractSet[str],
        others: AbstractSet[str] = frozenset(),
    ) -> None:
        """Note a construct that looks at more than one row; `reads` may still grow."""
        start, stop = place if isinstance(place, tuple) else extent(place, self.sql)
        self._forms.append((kind, reads, others, start, stop))

    @property
    def forms(self) -> tuple[Form, ...]:
        found = (
            Form(kind, tuple(sorted(reads)), tuple(sorted(others)), start, stop)
            for kind, reads, others, start, stop in self._forms
        )
        return tuple(dict.fromkeys(found))

    def not_understood(self, node: exp.Expr, reason: str) -> None:
        """Note why a part stays opaque, with the words of the SQL that begin it."""
        start, stop = extent(node, self.sql)
        line = self.sql.count("\n", 0, start) + 1
        text = f"{reason} (line {line} of the compiled SQL: {self.sql[start:stop]})"
        if text not in self.opaque:
            self.opaque.append(text)


def extent(node: exp.Expr, sql: str) -> tuple[int, int]:
    """Return where a node stands: its own name, or the leaves below it."""
    spans = [(found.meta["start"], found.meta["end"] + 1) for found in _placed(node) if "start" in found.meta]
    if not spans:
        return 0, min(1, len(sql))
    return min(start for start, _ in spans), max(stop for _, stop in spans)


def _placed(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous) and "start" in node.meta:
        return [node]
    return [found for found in node.walk() if found.meta]
