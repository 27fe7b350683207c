"""An explanation as text: plans side by side in a wide terminal, otherwise one below the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal
from unicodedata import combining, east_asian_width

from msgspec import Struct

from millstream.core.text import clean_text
from millstream.explain.explanation import Explanation, RuleReport
from millstream.explain.figures import Figure
from millstream.explain.figures import in_words as figure_in_words
from millstream.explain.names import model_name
from millstream.explain.one_state import OneState
from millstream.explain.opaque import OpaqueSql
from millstream.explain.queries import ExplainedQuery
from millstream.explain.savings import cost_table, in_words, savings_in_words
from millstream.explain.topology import Drawing, DrawnNode, abbreviate_metadata
from millstream.plan.optimizer.context import PlanChange
from millstream.results.batch_stats import in_words as batches_in_words

_WORD = re.compile(r"\s*\S+")


class PlanTree:
    """Draws output by output and remembers what was drawn."""

    def __init__(self, drawing: Drawing, width: int) -> None:
        self.width = width
        self.nodes = {node.id: node for node in drawing.nodes}
        self.inputs: dict[str, list[str]] = {node.id: [] for node in drawing.nodes}
        for edge in drawing.edges:
            self.inputs[edge.target].append(edge.source)
        self.readers = Counter(edge.source for edge in drawing.edges)
        self.drawn: set[str] = set()

    def lines(self, output: str) -> list[str]:
        """Return the lines of an output; a chain goes straight down, other inputs branch off before it."""
        lines: list[str] = []
        # Each entry: a node, the indent of its lines, and the prefix of its first line.
        waiting = [(output, "", "")]
        while waiting:
            name, indent, head = waiting.pop()
            inputs = self.inputs[name]
            again = name in self.drawn and bool(inputs)
            below = not again and bool(inputs)
            lines += self._node(self.nodes[name], indent, head, again=again, below=below)
            if again:
                continue
            if self.readers[name] > 1:
                self.drawn.add(name)
            if inputs:
                straight, *branches = inputs
                waiting.append((straight, indent, ""))
                waiting += [(branch, indent + "│  ", indent + "├─ ") for branch in reversed(branches)]
        return lines

    def _node(self, node: DrawnNode, indent: str, head: str, *, again: bool, below: bool) -> list[str]:
        shared = self.readers[node.id] > 1
        if again:
            text = f"↑ {clean_text(node.id)} (above)"
        else:
            mark = "◆" if shared else "■" if node.output else "·"
            name = f"{clean_text(node.id)} = " if shared else ""
            text = f"{mark} {name}{clean_text(node.line)}"
            if shared:
                text += f" (read {self.readers[node.id]} times)"
        return wrap_text(text, self.width, head or indent, indent + ("│   " if below else "    "))


LEAST, TWO_COLUMNS = 80, 100
_MOST_CHANGES = 20
_GAP = " │ "


class ExplainLine(Struct, frozen=True):
    text: str
    kind: Literal["title", "plain", "good", "warning"] = "plain"


def format_explanation(explanation: Explanation, width: int = 100, *, sql: bool = False) -> str:
    return "\n".join(line.text for line in format_lines(explanation, width, sql=sql))


def format_lines(explanation: Explanation, width: int = 100, *, sql: bool = False) -> list[ExplainLine]:
    """Return all lines; only lines of SQL may be wider than `width`, which is at least 80."""
    width = max(width, LEAST)
    parts = [
        _trees(explanation, width),
        _rules(explanation, width),
        _queries(explanation, width),
        _one_state(explanation.one_state, width),
        _calls(explanation, width),
        _unsupported(explanation.unsupported, width),
        _figures(explanation.figures, width),
        _cost(explanation, width),
    ]
    if sql:
        parts.append(_sql(explanation.queries))
    all_lines: list[ExplainLine] = []
    for part in parts:
        section = list(part)
        if section:
            all_lines += [*([ExplainLine("")] if all_lines else []), *section]
    return all_lines


def _trees(explanation: Explanation, width: int) -> Iterator[ExplainLine]:
    names = ("before", f"after {explanation.step}") if explanation.step else ("as written", "as optimized")
    if not explanation.written.outputs:
        yield ExplainLine("No model is selected.", "title")
        return
    if width < TWO_COLUMNS:
        yield from _stacked(explanation, width, names)
        return
    half = (width - len(_GAP)) // 2
    trees = PlanTree(explanation.written, half), PlanTree(explanation.optimized, half)
    yield ExplainLine(pad_text(names[0].upper(), half) + _GAP + names[1].upper(), "title")
    for written, optimized in zip(explanation.written.outputs, explanation.optimized.outputs, strict=True):
        yield ExplainLine((" " * half + _GAP).rstrip())
        columns = trees[0].lines(written), trees[1].lines(optimized)
        for left, right in zip_longest(*columns, fillvalue=""):
            yield ExplainLine((pad_text(left, half) + _GAP + right).rstrip())


def _stacked(explanation: Explanation, width: int, names: tuple[str, str]) -> Iterator[ExplainLine]:
    for index, (name, drawing) in enumerate(
        zip(names, (explanation.written, explanation.optimized), strict=True)
    ):
        if index:
            yield ExplainLine("")
        yield ExplainLine(name.upper(), "title")
        tree = PlanTree(drawing, width)
        for output in drawing.outputs:
            yield ExplainLine("")
            yield from map(ExplainLine, tree.lines(output))


def _rules(explanation: Explanation, width: int) -> Iterator[ExplainLine]:
    yield ExplainLine("RULES", "title")
    if explanation.together is not None and in_words(explanation.together):
        yield ExplainLine("  one plan for all models", "title")
        yield from _bullet("relations that several models read are read once", width, "    - ")
        yield from _bullet(savings_in_words(explanation.together), width, "      saves ", "good")
    elif not explanation.rules:
        yield ExplainLine("  No rule changed the plan.")
    for report in explanation.rules:
        yield from _rule(report, width, most=len(report.changes) if explanation.step else _MOST_CHANGES)
    if explanation.rules and explanation.cost_written.rows_read is None:
        yield from _bullet(_UNKNOWN, width, "  ")


def _rule(report: RuleReport, width: int, *, most: int) -> Iterator[ExplainLine]:
    if not (report.changes or in_words(report.saves)):
        return
    yield ExplainLine(f"  {report.rule}", "title")
    for change in report.changes[:most]:
        yield from _bullet(_where(change), width, "    - ")
    if (more := len(report.changes) - most) > 0:
        yield from _bullet(f"and {more:,} more: see --rule {report.rule}", width, "    - ")
    if less := savings_in_words(report.saves):
        yield from _bullet(less, width, "      saves ", "good")


def _where(change: PlanChange) -> str:
    """Return what changed, with its models unless the sentence names one of them."""
    what = abbreviate_metadata(change.what)
    names = [model_name(model) for model in change.models]
    if not names or set(names).intersection(re.findall(r"\w+", what)):
        return what
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{what} (in {', '.join(names[:3])}{more})"


_UNKNOWN = """\
(What filters save is unknown: it needs `rows_per_second` of all sources and `keeps` of models, declared or \
measured.)"""


def _queries(explanation: Explanation, width: int) -> Iterator[ExplainLine]:
    if not explanation.queries:
        return
    yield ExplainLine("QUERIES", "title")
    for query in explanation.queries:
        outputs = [*query.models, *(f"dead letters in {topic}" for topic in query.dead_letters)]
        outputs += [f"{query.stored_rows}, stored as a table"] if query.keeps else []
        yield from _bullet(
            f"{query.name} ({query.kind}, {query.mode} mode): {', '.join(outputs)}", width, "  "
        )
        if query.sources:
            yield from _bullet(f"reads {', '.join(query.sources)}", width, "    ")
        if query.memory:
            yield from _bullet(f"state: {query.memory}", width, "    ")
        for memory in query.state_memory:
            yield from _bullet(f"memory: {memory}", width, "    ")
        if query.batches is not None:
            yield from _bullet(f"batches of a run: {batches_in_words(query.batches)}", width, "    ")
        if query.exactly_once:
            yield from _bullet("sends records exactly once: a transaction for each batch", width, "    ")
        real = "; ".join(query.realtime)
        yield from _bullet(f"real-time mode: {f'no: {real}' if real else 'possible'}", width, "    ")
    for separation in explanation.separations:
        others = f"does not share a query with {', '.join(separation.others)}"
        sentence = others if separation.others else "runs in a separate query"
        yield from _bullet(f"{separation.model} {sentence}: {separation.why}", width, "  ")


def _one_state(states: Sequence[OneState], width: int) -> Iterator[ExplainLine]:
    if not states:
        return
    yield ExplainLine("COULD KEEP ONE STATE", "title")
    for state in states:
        yield from _bullet(", ".join(state.models), width, "  ")
        yield from _bullet(f"now: {', '.join(in_words(state.separate))}; each row is moved", width, "    ")
        merged = f"{', '.join(in_words(state.merged))}; of a batch, one row for each key and task is moved"
        yield from _bullet(f"as one: {merged}", width, "    ")
    yield from _bullet(
        "Set optimize=['all', 'merge_aggregates'] in these models. An edit of one of them then rebuilds all.",
        width,
        "  ",
    )


def _calls(explanation: Explanation, width: int) -> Iterator[ExplainLine]:
    if not explanation.calls:
        return
    yield ExplainLine("PYTHON FUNCTIONS", "title")
    for call in explanation.calls:
        often = "once per row" if call.times == 1 else f"{call.times} times per row"
        yield from _bullet(f"{call.function} in {call.node}: {call.runs}, {often}", width, "  ")
        yield from _bullet(call.rows, width, "    on ")


def _unsupported(statements: Sequence[OpaqueSql], width: int) -> Iterator[ExplainLine]:
    if statements:
        yield ExplainLine("OPAQUE SQL: runs as written, and is not optimized", "title")
    for statement in statements:
        location = (
            f"{statement.compiled_path}:{statement.line}" if statement.line else statement.compiled_path
        )
        yield from _bullet(
            f"{statement.model} ({statement.path}): {statement.reason}", width, "  ", "warning"
        )
        yield from _bullet(f"{location}: {statement.text}" if statement.text else location, width, "    at ")
        yield from _bullet(statement.remedy, width, "    instead: ")


def _figures(figures: Sequence[Figure], width: int) -> Iterator[ExplainLine]:
    if figures:
        yield ExplainLine("FIGURES", "title")
    for figure in figures:
        yield from _bullet(figure_in_words(figure), width, "  ")


def _cost(explanation: Explanation, width: int) -> Iterator[ExplainLine]:
    heads = ("before", "after", "saved") if explanation.step else ("as written", "as optimized", "saved")
    rows = cost_table(explanation.cost_written, explanation.cost_optimized, explanation.saves)
    room = min(width - 3 * 14, max([len("COST"), *(len(name) + 2 for name, _ in rows)]))
    yield ExplainLine(pad_text("COST", room) + "".join(f"{head:>14}" for head in heads), "title")
    for name, numbers in rows:
        yield ExplainLine(pad_text(f"  {name}", room) + "".join(f"{number:>14}" for number in numbers))


def _sql(queries: Iterable[ExplainedQuery]) -> Iterator[ExplainLine]:
    for query in queries:
        yield ExplainLine(f"SQL OF {query.name}", "title")
        yield from map(ExplainLine, query.sql.splitlines())


def _bullet(
    text: str, width: int, first: str, kind: Literal["title", "plain", "good", "warning"] = "plain"
) -> Iterator[ExplainLine]:
    indent = " " * min(count_cells(first), 12)
    for line in wrap_text(clean_text(text), width, first, indent):
        yield ExplainLine(line, kind)


def count_cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def pad_text(text: str, width: int) -> str:
    return text + " " * max(0, width - count_cells(text))


def wrap_text(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Break a text between words; the first line begins with `first`, the others with `others`."""
    lines: list[str] = []
    line, begun = first, False
    for word in _pieces(_WORD.findall(text), max(8, width - max(count_cells(first), count_cells(others)))):
        if begun and count_cells(line) + count_cells(word) > width:
            lines.append(line.rstrip())
            line, begun = others, False
        line += word if begun else word.lstrip()
        begun = True
    return [*lines, line.rstrip()]


def _pieces(words: Iterable[str], room: int) -> Iterable[str]:
    """Split words that are longer than a line."""
    for word in words:
        rest = word
        while count_cells(rest.strip()) > room:
            rest = rest.lstrip()
            cut = room
            while count_cells(rest[:cut]) > room:
                cut -= 1
            yield rest[:cut]
            rest = rest[cut:]
        if rest:
            yield rest
