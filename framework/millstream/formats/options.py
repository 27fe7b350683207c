"""Checks the options of a format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from millstream.core.errors import WrongOption, did_you_mean
from millstream.formats.registry import format_of


def text_of(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def wrong_options(name: str, settings: Mapping[str, str | bool]) -> Iterator[WrongOption]:
    """Yield the options that a format doesn't have, or that have other values."""
    options = format_of(name).options
    for option, value in settings.items():
        if option not in options:
            suggestion = (
                f"options of {name}: {', '.join(options)}" if options else f"remove it: {name} has no options"
            )
            hint = did_you_mean(option, options, suggestion)
            yield WrongOption("MS106", f"format '{name}' has no option '{option}'", hint, option)
        elif text_of(value) != options[option].default and not re.fullmatch(
            options[option].pattern, text_of(value)
        ):
            message = f"'{value}' is not a valid {option}: {options[option].about}"
            remedy = f"write, for example, {option}: {options[option].example}"
            yield WrongOption("MS107", message, remedy, option)
