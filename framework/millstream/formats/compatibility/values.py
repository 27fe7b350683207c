"""What differs between two versions of a schema, and what that breaks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Direction = Literal["backward", "forward"]


class ComparedSides(Struct, frozen=True):
    """The words for the two schemas of a comparison."""

    reader: str
    writer: str


BACKWARD = ComparedSides("new", "old")
"""New readers read old records."""
FORWARD = ComparedSides("old", "new")


class SchemaDifference(Struct, frozen=True):
    """A difference that matters to readers of one schema with records of the other."""

    path: str
    """The field: `price.amount`, `lines[].id`; empty for the schema as a whole."""
    rule: str
    """Its name in Avro's or Confluent's libraries, in lower case."""
    what: str
    breaks: bool = True


class Incompatibility(Struct, frozen=True):
    """A difference that breaks readers."""

    path: str
    what: str
    direction: Direction
    version: int | None = None
    """The older version that was compared, if it has a number."""
    rule: str = ""

    @property
    def text(self) -> str:
        sides = BACKWARD if self.direction == "backward" else FORWARD
        subject = f"field {self.path}" if self.path else "the schema"
        return f"{subject}: {self.what}, so {sides.reader} readers can't read {sides.writer} records"


def join_path(path: str, rest: str) -> str:
    """Return the path of a field within another one; `[]` and `{}` follow without a dot."""
    return f"{path}.{rest}" if path and rest and rest[0] not in "[{" else f"{path}{rest}"


def make_difference(
    sides: ComparedSides,
    path: str,
    rule: str,
    what: str,
    read: object,
    written: object,
    *,
    breaks: bool = True,
) -> SchemaDifference:
    """Return a difference between what the reader's schema says, and the writer's."""
    text = f"{what} is {read} in the {sides.reader} schema, but {written} in the {sides.writer} one"
    return SchemaDifference(path, rule, text, breaks)


def is_compatible(differences: Iterable[SchemaDifference]) -> bool:
    return not any(difference.breaks for difference in differences)
