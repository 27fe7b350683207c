"""The table of rules in docs/optimizer.md, from the docstrings of the rules."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence

from millstream.plan.optimizer.context import Rule
from millstream.plan.optimizer.rules import RULES

BEGIN, END = (
    "<!-- The rules, written by `uv run python -m millstream.cli.reference`. -->",
    "<!-- Until here. -->",
)


def with_rules(page: str, rules: Sequence[Rule] = RULES) -> str:
    """Return the page with the current rules, in their order."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = [
        "| rule | |",
        "|---|---|",
        *(f"| `{rule.__name__}` | {_documentation(rule)[0]} |" for rule in rules),
    ]
    parts = [BEGIN, "\n".join(table), *map(_example, rules), END]
    return before + "\n\n".join(filter(None, parts)) + after


def _example(rule: Rule) -> str:
    lines = _documentation(rule)[1:]
    return "\n".join([f"`{rule.__name__}`:", "```", *lines, "```"]) if lines else ""


def _documentation(rule: Rule) -> list[str]:
    """Return a rule's sentence, then the lines of its example before and after."""
    doc = inspect.cleandoc(sys.modules[rule.__module__].__doc__ or rule.__doc__ or "")
    sentence, _, example = doc.partition("\n\n")
    marks = ("before: ", "after:  ")
    lines = [line for line in example.partition("\n\n")[0].splitlines() if line]
    pair = (
        [mark + line for mark, line in zip(marks, lines, strict=False)] if len(lines) == len(marks) else lines
    )
    return [" ".join(sentence.split()).replace("|", "\\|"), *pair]
