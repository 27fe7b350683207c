"""Reasons why values can't be read by a reader's schema, as Spark's functions word them."""

from __future__ import annotations

from millstream.formats.avro.types import AvroType, described
from millstream.formats.values import UnfitError


def unresolved(written: AvroType, expected: AvroType) -> UnfitError:
    return UnfitError(f"the writer's {described(written)} can't be read as {described(expected)}")
