"""Every error code, with what the reference page says of it.

A code is a line with its title, and below it the indented explanation, whose line ends are spaces.
"""

import re

from msgspec import Struct


class ErrorCode(Struct, frozen=True):
    title: str
    explanation: str


def read_codes(text: str) -> dict[str, ErrorCode]:
    codes: dict[str, ErrorCode] = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, *explanation = entry.splitlines()
        name, _, title = head.partition(" ")
        codes[name] = ErrorCode(title, " ".join(map(str.strip, explanation)))
    return codes
