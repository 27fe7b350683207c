"""What reading a column depends on besides its name and type; other facts read old records differently."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from millstream.formats.format import Fields
from millstream.formats.registry import Encoding, format_of

SCHEMA = "schema"
PRECEDING = "preceding fields"
DIGESTS = (SCHEMA, PRECEDING)
"""The facts whose content is a digest, which says nothing to people."""


def reading_of(encoding: Encoding, fields: Fields, column: str) -> Mapping[str, str]:
    """Return facts by what they are, such as a default or a number; `fields` are those of the value.

    Without a column, they are those of the whole value, as of a key.
    """
    format_ = format_of(encoding)
    if encoding.schema and format_.schemas is not None and format_.schemas.reading is not None:
        facts = format_.schemas.reading(encoding.schema, encoding.message, column)
        if only_schema(encoding):
            return facts
        # The schema that a value was written with says where its fields are.
        return {fact: content for fact, content in facts.items() if fact != PRECEDING}
    if format_.by_position:
        names = [field.name.lower() for field in fields]
        return {"position": str(names.index(column.lower()) + 1)} if column.lower() in names else {}
    return {}


def only_schema(encoding: Encoding) -> str:
    """Return a digest of the only schema with which values can have been written; empty without one."""
    language = format_of(encoding).schemas
    if not encoding.schema or encoding.writers or language is None or not language.by_writer:
        return ""
    assert language.reading is not None
    return language.reading(encoding.schema, encoding.message, "")[SCHEMA]


def digest_json(content: object) -> str:
    encoded = content if isinstance(content, bytes) else msgspec.json.encode(content, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:16]
