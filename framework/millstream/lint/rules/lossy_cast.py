"""Casts that change a value without an error."""

from __future__ import annotations

import re
from collections.abc import Iterator

from millstream.core.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
)
from millstream.lint.project import LintProject
from millstream.lint.rule import rule
from millstream.lint.values import Finding

_ROUNDING_CALL = re.compile(r"\W*(round|bround|rint|floor|ceil|ceiling|trunc|date_trunc)\s*\(", re.IGNORECASE)
"""Calls after which there may be nothing left to lose."""
_COMPUTED = re.compile(r"[-+*/%]|\b(div|round|avg)\b", re.IGNORECASE)
"""What gives a decimal more digits than its value has: `cents / 100.0` has six behind the point."""
_DIGITS_OF_FLOAT = 6
_FLOATING = (FLOAT, DOUBLE)


@rule("lossy-cast")
def lossy_cast(project: LintProject) -> Iterator[Finding]:
    """Find casts that round a number or cut a time, without an error."""
    for model in project.models.values():
        for cast in model.casts:
            written = model.sql[cast.start : cast.stop]
            decimals = isinstance(cast.source, Decimal) and isinstance(cast.target, Decimal)
            if _ROUNDING_CALL.match(written) or (decimals and _COMPUTED.search(written)):
                continue
            if lost := lost_part(cast.source, cast.target):
                message = f"this cast of a {cast.source} to {cast.target} loses {lost}"
                remedy = "keep the type, or say how: round(), floor(), date_trunc()"
                yield model.finding(message, remedy, span=(cast.start, cast.stop))


def lost_part(source: Type, target: Type) -> str:
    """Return what a cast of a value that fits loses; empty if it loses nothing, or fails instead."""
    match source, target:
        case Decimal(), Decimal():
            return "digits behind the point" if target.scale < source.scale else ""
        case Decimal(), _ if target in INTEGERS:
            return "what is behind the point" if source.scale else ""
        case Decimal(), _ if target == FLOAT:
            return "digits" if source.precision > _DIGITS_OF_FLOAT else ""
        case _, _ if source in _FLOATING and target in INTEGERS:
            return "what is behind the point"
        case _, Decimal() if source in _FLOATING:
            return "digits behind the point"
        case _, _ if source in {INT, BIGINT, DOUBLE} and target == FLOAT:
            return "digits"
        case _, _ if source in {TIMESTAMP, TIMESTAMP_NTZ} and target == DATE:
            return "the time of the day"
        case _, _ if source == TIMESTAMP and target in INTEGERS:
            return "fractions of a second"
        case _:
            return ""
