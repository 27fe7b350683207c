"""What a rule is: a name, and a function that yields findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from millstream.lint.project import LintProject
from millstream.lint.values import Finding, Level

Check = Callable[[LintProject], Iterable[Finding]]


class Rule(Struct, frozen=True):
    name: str
    """In kebab case; findings have it as their code."""
    check: Check
    severity: Level = "warning"
    path: str = ""
    """The file of a project's own rule."""


def rule(name: str, *, severity: Level = "warning") -> Callable[[Check], Rule]:
    """Make a rule of a function that yields findings."""

    def decorate(check: Check) -> Rule:
        return Rule(name, check, severity)

    return decorate
