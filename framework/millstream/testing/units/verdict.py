"""The verdict of a unit test: its expected rows compared with the actual ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError
from millstream.manifest import ManifestNode
from millstream.testing.styled_text import Line, Piece, styled
from millstream.testing.units.diff_table import diff_lines
from millstream.testing.units.plan import UnitTestPlan, plan_unit_test
from millstream.testing.units.rebatch import rebatch, split_once
from millstream.testing.units.row_diff import RowDiff, diff_rows
from millstream.testing.units.run import Outcome, Row, RunContext, keys_of, run_unit_test
from millstream.testing.units.schedule import Batch, batch_per_step
from millstream.testing.units.values import ExpectedRow, UnitTestCase
from millstream.text import Location, Text


class Verdict(Struct, frozen=True):
    """What became of a test."""

    problems: tuple[Diagnostic, ...] = ()
    """Empty: it passed."""
    lines: tuple[Line, ...] = ()
    """The rows that differ, for people."""
    outcome: Outcome | None = None
    differences: tuple[tuple[int | None, RowDiff], ...] = ()
    """By step; None for what is there at the end."""

    @property
    def passed(self) -> bool:
        return not self.problems


def judge(context: RunContext, test: UnitTestCase, nodes: Mapping[str, ManifestNode]) -> Verdict:
    """Run a test; raise what is wrong with the test itself, return what is wrong with the model."""
    plan = plan_unit_test(test, context.relations, nodes)
    if test.strict and not plan.stateful:
        message = (
            f"unit test '{test.name}': '{test.model.partition('.')[2]}' keeps no state, so no cut matters"
        )
        raise MillstreamError(Diagnostic("MS656", message, test.location, "remove strict"))
    try:
        context.streaming_checks.check(test.model, plan)
        outcome = run_unit_test(context, test, plan, batch_per_step(test))
    except MillstreamError as error:
        return _failed(test, error, Path(context.project.root))
    found = _Verdicts(context, test, nodes[test.model], plan, outcome)
    if test.error is not None:
        return found.no_error()
    verdict = found.verdict()
    if verdict.passed and plan.stateful and test.strict is not False:
        return found.strict() or verdict
    return verdict


def _failed(test: UnitTestCase, error: MillstreamError, root: Path) -> Verdict:
    """Return the verdict of a run that ended with an error, which may be what was expected."""
    said = "; ".join(each.message for each in error.diagnostics)
    if test.error is None:
        return Verdict(error.diagnostics, ())
    if test.error.lower() in said.lower():
        return Verdict()
    message = f"unit test '{test.name}': another error came than the expected one"
    place = test.error_location or test.location
    lines = (styled(f"    expected  {test.error}", "green"), styled(f"    came      {said}", "red"))
    return Verdict((_problem(root, "MS658", message, place, "fix the model, or what is expected"),), lines)


class _Verdicts:
    def __init__(
        self,
        context: RunContext,
        test: UnitTestCase,
        node: ManifestNode,
        plan: UnitTestPlan,
        outcome: Outcome,
    ) -> None:
        self.context = context
        self.test = test
        self.node = node
        self.plan = plan
        self.outcome = outcome
        self.root = Path(context.project.root)

    def problem(self, code: str, message: str, place: Location, remedy: str) -> Diagnostic:
        return _problem(self.root, code, f"unit test '{self.test.name}': {message}", place, remedy)

    def no_error(self) -> Verdict:
        place = self.test.error_location or self.test.location
        message = f"no error came, but {len(self.outcome.final)} rows"
        return Verdict((self.problem("MS658", message, place, "fix the model, or expect the rows"),))

    def verdict(self) -> Verdict:
        keys = keys_of(self.plan)
        problems: list[Diagnostic] = []
        lines: list[Line] = []
        differences: list[tuple[int | None, RowDiff]] = []
        for index, step in enumerate(self.test.steps):
            if step.expect is None:
                continue
            actual = self.outcome.steps[index] if self.test.stepped else self.outcome.final
            found = diff_rows(step.expect, actual, keys)
            if found is not None:
                number = index if self.test.stepped else None
                differences.append((number, found))
                problems.append(self._rows_problem(found, step.location or self.test.location, number))
                lines += self._lines(found, number)
        problems += self._dead_letters(lines)
        return Verdict(tuple(problems), tuple(lines), self.outcome, tuple(differences))

    def _rows_problem(self, found: RowDiff, place: Location, step: int | None) -> Diagnostic:
        other = sum(p.expected is not None and p.actual is not None for p in found.pairs)
        counts = (
            (other, "differs" if other == 1 else "differ"),
            (sum(p.actual is None for p in found.pairs), "did not come"),
            (sum(p.expected is None for p in found.pairs), "came unexpected"),
            (found.same, "as expected"),
        )
        summary = ", ".join(f"{_rows(number)} {what}" for number, what in counts if number)
        where = f"step {step + 1}: " if step is not None else ""
        first = next((pair.cell or pair.location for pair in found.pairs if pair.location), None)
        remedy = "fix the model, or what the test expects"
        return self.problem("MS658", f"{where}{summary}", first or place, remedy)

    def _lines(self, found: RowDiff, step: int | None) -> list[Line]:
        lines = [styled(f"  step {step + 1}", "bold")] if step is not None else []
        lines += diff_lines(found)
        wrong = dict.fromkeys(name for pair in found.pairs for name in pair.wrong)
        places = [(name, column_place(self.root, self.node.path, name)) for name in wrong]
        for name, place in places[:4]:
            lines.append((Piece("    "), Piece(f"{name}: {place.path}:{place.line}", "dim")))
        if not places:
            lines.append((Piece("    "), Piece(f"the model: {self.node.path}:1", "dim")))
        return lines

    def _dead_letters(self, lines: list[Line]) -> list[Diagnostic]:
        wanted = self.test.dead_letters
        if wanted is None and not self.outcome.dead_letters:
            return []
        came: Sequence[Row] = [
            {name: value for name, value in row.items() if not name.startswith("_")}
            for row in self.outcome.dead_letters
        ]
        found = diff_rows(wanted or (), came)
        if found is None:
            return []
        lines += [styled("  dead letters", "bold"), *diff_lines(found)]
        message = f"dead letters: {len(came)} came, {len(wanted or ())} expected"
        place = next((pair.location for pair in found.pairs if pair.location), self.test.location)
        remedy = "fix the model or the rows, or say expect_dead_letters: [{value: …}]"
        return [self.problem("MS658", message, place, remedy)]

    # -- the same rows in other micro-batches

    def strict(self) -> Verdict | None:
        """Return what is wrong where another cut of the same rows gives another answer."""
        keys = self._record_keys()
        for how, batches in rebatch(self.test, keys):
            other = self._other(batches)
            if other is None:
                continue
            if self._same(other):
                return None
            for small, parts in split_once(self.test):
                less = self._other(parts)
                if less is not None and not self._same(less):
                    return self._depends(small, less)
            return self._depends(how, other)
        return None

    def _other(self, batches: Sequence[Batch]) -> Outcome | None:
        """Run other batches; None where rows come too late in them, as the source would not let them."""
        try:
            found = run_unit_test(self.context, self.test, self.plan, batches, each_step=False)
        except MillstreamError:
            return Outcome(self.outcome.columns, tuple(() for _ in self.test.steps), ())
        return found if found.late <= self.outcome.late else None

    def _same(self, other: Outcome) -> bool:
        return self._against(other) is None

    def _against(self, other: Outcome) -> RowDiff | None:
        """Compare the answer at the end: an upsert relation may emit more or fewer rows on the way."""
        expected = [ExpectedRow(row, self.test.location) for row in self.outcome.final]
        return diff_rows(expected, other.final, keys_of(self.plan))

    def _depends(self, how: str, other: Outcome) -> Verdict:
        found = self._against(other)
        assert found is not None
        message = f"the answer depends on how rows are cut into micro-batches: whole, or {how}"
        remedy = "make it the same for every cut, or say strict: false"
        lines = [
            styled("  the rows of each step in one micro-batch (-), against the same rows", "bold"),
            styled(f"  {how} (+)", "bold"),
            *diff_lines(found),
            styled(f"    the model: {self.node.path}:1", "dim"),
        ]
        problem = self.problem("MS659", message, self.test.location, remedy)
        return Verdict((problem,), tuple(lines), self.outcome)

    def _record_keys(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for relation in self.test.relations:
            source = self.context.project.sources.get(relation.removeprefix("source."))
            model = self.context.relations.catalog.models.get(relation)
            if source is not None and source.key is not None:
                found[relation] = (source.key.name,)
            elif model is not None:
                found[relation] = model.keys or self.context.relations.traits[relation].keys
        return found


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _problem(root: Path, code: str, message: str, place: Location, remedy: str) -> Diagnostic:
    return Diagnostic(code, message, place, remedy, _text(root, place.path).line(place.line))


def column_place(root: Path, path: str, column: str) -> Location:
    """Return where a model makes a column, by its name alone; its first line where that is not seen."""
    text = _text(root, path)
    name = re.escape(column)
    for pattern in (rf"\bas\s+`?({name})\b", rf"\.\s*`?({name})\b(?!\s*\()", rf"(?<![\w.])({name})\b"):
        found = [match.span(1) for match in re.finditer(pattern, text.content, re.IGNORECASE)]
        if found:
            return text.location(*found[-1])
    return Location(path, 1, 1, 2)


def _text(root: Path, path: str) -> Text:
    try:
        return Text(path, (root / path).read_text(encoding="utf-8"))
    except OSError:
        return Text(path, "")
