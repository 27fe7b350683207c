"""Commands in remedies, with the options of the command that prints them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from msgspec import Struct

from millstream.cli.registry import COMMANDS

_ELSEWHERE = {"init", "demo", "schema", "completion"}
"""Commands that use no target."""
_DEPLOYING = {"apply", "build", "plan", "regroup", "run"}
"""Commands that remedies recommend, and that work in environments."""
_OF_PROJECT = ("--target", "--project-dir", "--profiles-dir", "--vars")
_OF_BUILD = ("--from", "--to", "--accept-fewer-rows", "--no-tests", "--no-unit")
FLAGS = {"--accept-fewer-rows", "--no-tests", "--no-unit"}
"""Those of these options that have no value."""
_SHORT = {"--target": "-t", "--environment": "-e"}
_NAMES = "|".join(entry.name for entry in COMMANDS if entry.name not in _ELSEWHERE)
_COMMAND = re.compile(rf"\bmillstream ({_NAMES})\b(?![\w-])(?! (?:-t|--target|--help)\b)( --accept(?= ))?")


class RepeatedOptions(Struct, frozen=True):
    """The options of a command that the commands in its remedies need, too, each with a leading space."""

    project: str = ""
    """Those that name the project and its target."""
    environment: str = ""
    build: str = ""
    """Those that say what a build does, which one that continues it with --accept does, too."""


NO_OPTIONS = RepeatedOptions()


def repeated_options(values: Mapping[str, object]) -> RepeatedOptions:
    """Return the options to repeat of those that a command was given, by their long names."""

    def written(*names: str) -> str:
        return "".join(
            f" {_SHORT.get(name, name)}{'' if value is True else f' {shlex.quote(str(value))}'}"
            for name in names
            if (value := values.get(name))
        )

    return RepeatedOptions(written(*_OF_PROJECT), written("--environment"), written(*_OF_BUILD))


def with_options(text: str, options: RepeatedOptions) -> str:
    """Return a text whose commands have the same options as the command that prints it."""

    def command(match: re.Match[str]) -> str:
        environment = options.environment if match[1] in _DEPLOYING else ""
        build = options.build if match[1] == "build" and match[2] else ""
        return f"millstream {match[1]}{options.project}{environment}{build}{match[2] or ''}"

    return _COMMAND.sub(command, text)
