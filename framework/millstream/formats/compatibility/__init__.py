"""Whether a schema is compatible with older versions of it, as a schema registry decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from millstream.formats.compatibility.values import BACKWARD, FORWARD, Difference, Direction, Finding, Sides

if TYPE_CHECKING:
    from millstream.formats.format import SchemaFiles

Level = Literal[
    "NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"
]
LEVELS: tuple[Level, ...] = get_args(Level)
_Compare = Callable[["SchemaFiles", "SchemaFiles", Sides], list[Difference]]


def level_of(name: str) -> Level:
    """Return a level by its name; a registry's own levels count as the strictest that is known."""
    return next((level for level in LEVELS if level == name), "FULL_TRANSITIVE")


def incompatibilities(
    format_: str, new: SchemaFiles, old: Mapping[int, SchemaFiles], level: Level
) -> tuple[Finding, ...]:
    """Return what a level forbids between a new schema and older versions; raise SchemaError.

    `old` are the versions by number. Levels that are not transitive compare the newest one only.
    """
    numbers = sorted(old)
    if not level.endswith("_TRANSITIVE"):
        numbers = numbers[-1:]
    findings: list[Finding] = []
    for number in reversed(numbers):
        for direction in directions(level):
            findings += [
                Finding(difference.path, difference.what, direction, number, difference.rule)
                for difference in differences(format_, new, old[number], direction)
                if difference.breaks
            ]
    return tuple(findings)


def directions(level: Level) -> Iterator[Direction]:
    if level.startswith(("BACKWARD", "FULL")):
        yield "backward"
    if level.startswith(("FORWARD", "FULL")):
        yield "forward"


def differences(format_: str, new: SchemaFiles, old: SchemaFiles, direction: Direction) -> list[Difference]:
    """Return what readers of one schema notice of records of the other."""
    compare = _comparison(format_)
    return compare(old, new, BACKWARD) if direction == "backward" else compare(new, old, FORWARD)


def _comparison(format_: str) -> _Compare:
    # Each imports its format.
    match format_:
        case "avro":
            from millstream.formats.compatibility.avro import compare
        case "protobuf":
            from millstream.formats.compatibility.protobuf import compare
        case _:
            from millstream.formats.compatibility.json_schema import compare
    return compare
