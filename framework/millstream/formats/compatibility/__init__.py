"""Whether a schema is compatible with older versions of it, as a schema registry decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from millstream.formats.compatibility.values import (
    BACKWARD,
    FORWARD,
    ComparedSides,
    Direction,
    Incompatibility,
    SchemaDifference,
)

if TYPE_CHECKING:
    from millstream.formats.format import SchemaFiles

Level = Literal[
    "NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"
]
LEVELS: tuple[Level, ...] = get_args(Level)
_Compare = Callable[["SchemaFiles", "SchemaFiles", ComparedSides], list[SchemaDifference]]


def level_of(name: str) -> Level:
    """Return a level by its name; a registry's own levels count as the strictest that is known."""
    return next((level for level in LEVELS if level == name), "FULL_TRANSITIVE")


def find_incompatibilities(
    format_: str, new: SchemaFiles, old: Mapping[int, SchemaFiles], level: Level
) -> tuple[Incompatibility, ...]:
    """Return what a level forbids between a new schema and older versions; raise SchemaError.

    `old` are the versions by number. Levels that are not transitive compare the newest one only.
    """
    numbers = sorted(old)
    if not level.endswith("_TRANSITIVE"):
        numbers = numbers[-1:]
    findings: list[Incompatibility] = []
    for number in reversed(numbers):
        for direction in level_directions(level):
            findings += [
                Incompatibility(difference.path, difference.what, direction, number, difference.rule)
                for difference in compare_schemas(format_, new, old[number], direction)
                if difference.breaks
            ]
    return tuple(findings)


def level_directions(level: Level) -> Iterator[Direction]:
    if level.startswith(("BACKWARD", "FULL")):
        yield "backward"
    if level.startswith(("FORWARD", "FULL")):
        yield "forward"


def compare_schemas(
    format_: str, new: SchemaFiles, old: SchemaFiles, direction: Direction
) -> list[SchemaDifference]:
    """Return what readers of one schema notice of records of the other."""
    compare = _comparison(format_)
    return compare(old, new, BACKWARD) if direction == "backward" else compare(new, old, FORWARD)


def _comparison(format_: str) -> _Compare:
    # Each imports its format.
    match format_:
        case "avro":
            from millstream.formats.compatibility.avro import compare_avro as compare
        case "protobuf":
            from millstream.formats.compatibility.protobuf import compare_protobuf as compare
        case _:
            from millstream.formats.compatibility.json_schema import compare_json as compare
    return compare
