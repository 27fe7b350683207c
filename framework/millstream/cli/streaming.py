"""The page of what may follow what in a streaming query, from the planner's own tables."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.plan.refusals import REFUSALS
from millstream.plan.streaming import RULES, STEPS, Apart, Kind, Refused

_BEGIN = "<!-- From here on written by `uv run python -m millstream.cli.reference`. -->"

_KINDS: dict[Kind, str] = {
    "watermark": "`config(watermark=…)` or `WATERMARK … DELAY OF`",
    "closing aggregate": "GROUP BY with `emit='on_close'`",
    "refining aggregate": "GROUP BY with `emit='on_change'`, the default",
    "dedupe": "`config(dedupe=…)`, DISTINCT, UNION",
    "bounded join": "inner or semi join of streams, bounded in time on both sides",
    "unbounded join": "inner or semi join of streams without such bounds",
    "outer join": "left, right or full join of streams",
    "keyed function": "a Python function that keeps state by key",
}


def with_tables(page: str) -> str:
    """Return the page with the tables after its mark as they are now."""
    before, mark, _ = page.partition(_BEGIN)
    parts = [before + mark, "## Steps", _steps(), "## The upper step, over the lower one", _table()]
    parts += [*_reasons(), "## What a stream can't do", _refused()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _steps() -> str:
    return "\n".join(["| step | is |", "|---|---|", *(f"| {kind} | {_KINDS[kind]} |" for kind in STEPS)])


def _table() -> str:
    lines = [f"| lower \\ upper | {' | '.join(STEPS)} |", "|---" * (len(STEPS) + 1) + "|"]
    lines += [f"| **{below}** | {' | '.join(cell(below, above) for above in STEPS)} |" for below in STEPS]
    return "\n".join(lines)


def cell(below: Kind, above: Kind) -> str:
    """Say in a word or two how an upper step runs over a lower one."""
    if (below, above) == ("watermark", "watermark"):
        return "MS526"
    match RULES.get((below, above)):
        case Apart():
            return "through a topic"
        case Refused(code=code):
            return code
    return "one query"


def _reasons() -> Iterable[str]:
    said: dict[str, list[str]] = {}
    for (below, above), rule in RULES.items():
        if isinstance(rule, Apart):
            said.setdefault(rule.why, []).append(f"{above} over {below}")
    yield "\n".join(f"- {', '.join(pairs)}: {why}." for why, pairs in said.items())


def _refused() -> str:
    lines = ["| SQL | code | instead |", "|---|---|---|"]
    for form, refusal in REFUSALS.items():
        lines.append(f"| {form} | {refusal.code} | {refusal.remedy.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)
