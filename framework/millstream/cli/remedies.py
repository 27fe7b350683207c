"""Commands in remedies, for the target of the command that prints them."""

from __future__ import annotations

import re
import shlex

from millstream.cli.registry import COMMANDS

_ELSEWHERE = {"init", "demo", "schema", "completion"}
"""Commands that use no target."""
_DEPLOYING = {"apply", "build", "plan", "regroup", "run"}
"""Commands that remedies recommend, and that work in environments."""
TargetOptions = tuple[str, str]
"""The options that name a target, and an environment, each with a leading space; empty if not given."""
NO_TARGET: TargetOptions = ("", "")
_NAMES = "|".join(entry.name for entry in COMMANDS if entry.name not in _ELSEWHERE)
_COMMAND = re.compile(rf"\bmillstream ({_NAMES})\b(?![\w-])(?! (?:-t|--target|--help)\b)")


def target_options(target: str | None, environment: str | None) -> TargetOptions:
    """Return the options that name a target and an environment, as users type them."""
    return (
        f" -t {shlex.quote(target)}" if target else "",
        f" -e {shlex.quote(environment)}" if environment else "",
    )


def for_target(text: str, options: TargetOptions) -> str:
    """Return a text whose commands use the same target and environment as the command that prints it."""
    target, environment = options
    return _COMMAND.sub(lambda m: f"{m[0]}{target}{environment if m[1] in _DEPLOYING else ''}", text)
