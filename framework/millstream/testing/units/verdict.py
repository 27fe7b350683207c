"""The verdict of a unit test: its expected rows compared with the actual ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.testing.styled_text import Line, StyledPiece, styled_line
from millstream.testing.units.diff_table import diff_lines
from millstream.testing.units.plan import UnitTestPlan, plan_unit_test
from millstream.testing.units.row_diff import RowDiff, diff_rows
from millstream.testing.units.run import ComputedRows, Row, RunContext, keys_of, run_unit_test
from millstream.testing.units.schedule import MicroBatch, batch_per_step
from millstream.testing.units.values import ExpectedRow, GivenRow, UnitTestCase


class UnitVerdict(Struct, frozen=True):
    """The result of a test."""

    diagnostics: tuple[Diagnostic, ...] = ()
    """Empty if the test passed."""
    lines: tuple[Line, ...] = ()
    """The rows that differ, for people."""
    computed: ComputedRows | None = None
    differences: tuple[tuple[int | None, RowDiff], ...] = ()
    """With the index of the step; None for the final rows."""

    @property
    def passed(self) -> bool:
        return not self.diagnostics


def judge_test(context: RunContext, test: UnitTestCase, nodes: Mapping[NodeId, ManifestNode]) -> UnitVerdict:
    """Run a test; raise if the test itself is invalid, return what is wrong with the model."""
    plan = plan_unit_test(test, context.relations, nodes)
    if test.strict and not plan.stateful:
        model = test.model.name
        message = f"'{model}' keeps no state, so micro-batches don't matter"
        raise MillstreamError(test.diagnostic("MS656", message, "remove strict"))
    try:
        context.streaming_checks.check(test.model, plan)
        computed = run_unit_test(context, test, plan, batch_per_step(test))
    except MillstreamError as error:
        return _error_verdict(test, error, Path(context.project.root))
    comparison = _Comparison(context, test, nodes[test.model], plan, computed)
    if test.error is not None:
        return comparison.no_error()
    verdict = comparison.verdict()
    if verdict.passed and plan.stateful and test.strict is not False:
        return comparison.strict() or verdict
    return verdict


def _error_verdict(test: UnitTestCase, error: MillstreamError, root: Path) -> UnitVerdict:
    """Return the verdict of a run that ended with an error, which may be the expected one."""
    actual = "; ".join(diagnostic.message for diagnostic in error.diagnostics)
    if test.error is None:
        return UnitVerdict(error.diagnostics, ())
    if test.error.lower() in actual.lower():
        return UnitVerdict()
    message = f"unit test '{test.name}': the error differs from the expected one"
    location = test.error_location or test.location
    lines = (
        styled_line(f"    expected  {test.error}", "green"),
        styled_line(f"    actual    {actual}", "red"),
    )
    remedy = "fix the model, or the expected error"
    return UnitVerdict((_diagnostic(root, "MS658", message, location, remedy),), lines)


class _Comparison(Struct, frozen=True):
    """Compares the rows of a run with what its test expects."""

    context: RunContext
    test: UnitTestCase
    node: ManifestNode
    plan: UnitTestPlan
    computed: ComputedRows

    @property
    def root(self) -> Path:
        return Path(self.context.project.root)

    def diagnostic(self, code: str, message: str, location: Location, remedy: str) -> Diagnostic:
        return _diagnostic(self.root, code, f"unit test '{self.test.name}': {message}", location, remedy)

    def no_error(self) -> UnitVerdict:
        location = self.test.error_location or self.test.location
        message = f"expected an error, but got {_rows(len(self.computed.final))}"
        return UnitVerdict(
            (self.diagnostic("MS658", message, location, "fix the model, or expect the rows"),)
        )

    def verdict(self) -> UnitVerdict:
        keys = keys_of(self.plan)
        diagnostics: list[Diagnostic] = []
        lines: list[Line] = []
        differences: list[tuple[int | None, RowDiff]] = []
        for index, step in enumerate(self.test.steps):
            if step.expect is None:
                continue
            actual = self.computed.steps[index] if self.test.stepped else self.computed.final
            diff = diff_rows(step.expect, actual, keys)
            if diff is not None:
                number = index if self.test.stepped else None
                differences.append((number, diff))
                diagnostics.append(self._rows_problem(diff, step.location or self.test.location, number))
                lines += self._lines(diff, number)
        diagnostics += self._dead_letters(lines)
        return UnitVerdict(tuple(diagnostics), tuple(lines), self.computed, tuple(differences))

    def _rows_problem(self, diff: RowDiff, location: Location, step: int | None) -> Diagnostic:
        different = sum(p.expected is not None and p.actual is not None for p in diff.pairs)
        counts = (
            (different, "differs" if different == 1 else "differ"),
            (sum(p.actual is None for p in diff.pairs), "missing"),
            (sum(p.expected is None for p in diff.pairs), "unexpected"),
            (diff.same, "as expected"),
        )
        summary = ", ".join(f"{_rows(number)} {what}" for number, what in counts if number)
        prefix = f"step {step + 1}: " if step is not None else ""
        first = next((pair.cell or pair.location for pair in diff.pairs if pair.location), None)
        remedy = "fix the model, or what the test expects"
        return self.diagnostic("MS658", f"{prefix}{summary}", first or location, remedy)

    def _lines(self, diff: RowDiff, step: int | None) -> list[Line]:
        lines = [styled_line(f"  step {step + 1}", "bold")] if step is not None else []
        lines += diff_lines(diff)
        wrong = dict.fromkeys(name for pair in diff.pairs for name in pair.wrong)
        for name in [*wrong][:4]:
            location = find_column(self.root, self.node.path, name)
            lines.append(
                (StyledPiece("    "), StyledPiece(f"{name}: {location.path}:{location.line}", "dim"))
            )
        if not wrong:
            lines.append((StyledPiece("    "), StyledPiece(f"the model: {self.node.path}:1", "dim")))
        return lines

    def _dead_letters(self, lines: list[Line]) -> list[Diagnostic]:
        expected = self.test.dead_letters
        if expected is None and not self.computed.dead_letters:
            return []
        actual: Sequence[Row] = [
            {name: value for name, value in row.items() if not name.startswith("_")}
            for row in self.computed.dead_letters
        ]
        diff = diff_rows(expected or (), actual)
        if diff is None:
            return []
        lines += [styled_line("  dead letters", "bold"), *diff_lines(diff)]
        message = f"dead letters: expected {len(expected or ())}, got {len(actual)}"
        location = next((pair.location for pair in diff.pairs if pair.location), self.test.location)
        remedy = "fix the model or the rows, or set expect_dead_letters: [{value: …}]"
        return [self.diagnostic("MS658", message, location, remedy)]

    # -- the same rows in other micro-batches

    def strict(self) -> UnitVerdict | None:
        """Return a failure if other micro-batches of the same rows give other rows."""
        keys = self._record_keys()
        for how, batches in rebatch_rows(self.test, keys):
            other = self._run(batches)
            if other is None:
                continue
            if self._diff(other) is None:
                return None
            for small, parts in split_once(self.test):
                smaller = self._run(parts)
                if smaller is not None and self._diff(smaller) is not None:
                    return self._depends(small, smaller)
            return self._depends(how, other)
        return None

    def _run(self, batches: Sequence[MicroBatch]) -> ComputedRows | None:
        """Run other batches; None if more rows are late in them, which a source would not cause."""
        try:
            computed = run_unit_test(self.context, self.test, self.plan, batches, each_step=False)
        except MillstreamError:
            return ComputedRows(self.computed.columns, tuple(() for _ in self.test.steps), ())
        return computed if computed.late <= self.computed.late else None

    def _diff(self, other: ComputedRows) -> RowDiff | None:
        """Compare the final rows, because an upsert relation may emit more or fewer rows on the way."""
        expected = [ExpectedRow(row, self.test.location) for row in self.computed.final]
        return diff_rows(expected, other.final, keys_of(self.plan))

    def _depends(self, how: str, other: ComputedRows) -> UnitVerdict:
        diff = self._diff(other)
        assert diff is not None
        message = f"the result depends on how rows are split into micro-batches: whole, or {how}"
        remedy = "make the result independent of micro-batches, or set strict: false"
        lines = [
            styled_line("  each step in one micro-batch (-), compared with the same rows", "bold"),
            styled_line(f"  {how} (+)", "bold"),
            *diff_lines(diff),
            styled_line(f"    the model: {self.node.path}:1", "dim"),
        ]
        diagnostic = self.diagnostic("MS659", message, self.test.location, remedy)
        return UnitVerdict((diagnostic,), tuple(lines), self.computed)

    def _record_keys(self) -> dict[NodeId, tuple[str, ...]]:
        keys: dict[NodeId, tuple[str, ...]] = {}
        for relation in self.test.relations:
            source = self.context.project.topic(relation)
            spec = self.context.relations.catalog.models.get(relation)
            if source is not None and source.key is not None:
                keys[relation] = source.key.columns
            elif spec is not None:
                keys[relation] = spec.keys or self.context.relations.traits[relation].keys
        return keys


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _diagnostic(root: Path, code: str, message: str, location: Location, remedy: str) -> Diagnostic:
    return Diagnostic(code, message, location, remedy, _text(root, location.path).line(location.line))


def find_column(root: Path, path: str, column: str) -> Location:
    """Return where a model's SQL names a column last; the first line if it doesn't."""
    text = _text(root, path)
    name = re.escape(column)
    for pattern in (rf"\bas\s+`?({name})\b", rf"\.\s*`?({name})\b(?!\s*\()", rf"(?<![\w.])({name})\b"):
        spans = [match.span(1) for match in re.finditer(pattern, text.content, re.IGNORECASE)]
        if spans:
            return text.location(*spans[-1])
    return Location(path, 1, 1, 2)


def _text(root: Path, path: str) -> FileText:
    try:
        return FileText(path, (root / path).read_text(encoding="utf-8"))
    except OSError:
        return FileText(path, "")


Item = tuple[NodeId, GivenRow]
"""A row with its relation."""
Keys = Mapping[NodeId, tuple[str, ...]]
"""The key columns of each relation; rows with the same key keep their order."""


def rebatch_rows(test: UnitTestCase, keys: Keys) -> Iterator[tuple[str, tuple[MicroBatch, ...]]]:
    """Yield the same rows of each step in other batches and orders.

    Kafka keeps the order within a partition only, so rows with different keys may be reordered.
    """
    steps = _items(test)
    if sum(map(len, steps)) < 2:
        return
    reordered = [_other_order(rows, keys) for rows in steps]
    if reordered != steps:
        yield "in halves, other keys first", _batches(list(map(_halves, reordered)))
    yield "in halves", _batches(list(map(_halves, steps)))


def split_once(test: UnitTestCase) -> Iterator[tuple[str, tuple[MicroBatch, ...]]]:
    """Yield two batches for one step, split after each row in turn."""
    steps = _items(test)
    for index, rows in enumerate(steps):
        for size in range(1, len(rows)):
            parts = [[step_rows] for step_rows in steps]
            parts[index] = [rows[:size], rows[size:]]
            step = f" of step {index + 1}" if len(steps) > 1 else ""
            yield f"split after row {size}{step}", _batches(parts)


def _items(test: UnitTestCase) -> list[list[Item]]:
    """Return the rows of each step, in order."""
    return [
        [(step_input.relation, row) for step_input in step.inputs for row in step_input.rows]
        for step in test.steps
    ]


def _halves(rows: list[Item]) -> list[list[Item]]:
    middle = (len(rows) + 1) // 2
    return [rows[:middle], rows[middle:]] if len(rows) > 1 else [rows]


def _other_order(rows: list[Item], keys: Keys) -> list[Item]:
    """Return rows with the last partition or key first; rows of one key keep their order."""
    groups: dict[str, list[Item]] = {}
    for relation, row in rows:
        groups.setdefault(_lane(relation, row, keys), []).append((relation, row))
    return list(chain.from_iterable(reversed(groups.values())))


def _lane(relation: NodeId, row: GivenRow, keys: Keys) -> str:
    """Return the relation, topic, partition and key of a row; rows that share them keep their order."""
    key = [row.values.get(name) for name in keys.get(relation, ())]
    return repr(
        (relation, row.metadata.get("_topic"), row.metadata.get("_partition"), row.metadata.get("_key"), key)
    )


def _batches(steps: Sequence[Sequence[list[Item]]]) -> tuple[MicroBatch, ...]:
    batches: list[MicroBatch] = []
    for index, parts in enumerate(steps):
        for number, rows in enumerate(parts, start=1):
            by_relation: dict[NodeId, tuple[GivenRow, ...]] = {}
            for relation, row in rows:
                by_relation[relation] = (*by_relation.get(relation, ()), row)
            batches.append(MicroBatch(index, by_relation, last=number == len(parts)))
    return tuple(batches)
