"""Reasons why values can't be read by a reader's schema, as Spark's functions word them."""

from __future__ import annotations

from millstream.formats.avro.types import AvroType, type_text
from millstream.formats.values import UnfitError


def unresolved_error(written: AvroType, expected: AvroType) -> UnfitError:
    return UnfitError(f"the writer's {type_text(written)} can't be read as {type_text(expected)}")
