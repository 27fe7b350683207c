"""The ids of schemas that precede records of unit tests, which ask no registry."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.formats.registry import Encoding, WriterSchema, format_of
from millstream.plan.from_sql.catalog import Catalog


def with_written_schema(encoding: Encoding) -> Encoding:
    """Return an encoding that can decode what it encodes: the id of a schema that is not pinned is 0."""
    language = format_of(encoding).schemas
    if encoding.framing == "plain" or language is None or not language.by_writer:
        return encoding
    if any(writer.id == encoding.schema_id for writer in encoding.writers):
        return encoding
    written_schema = WriterSchema(encoding.schema_id, encoding.schema)
    return replace(encoding, writers=(*encoding.writers, written_schema))


def with_known_ids(catalog: Catalog) -> Catalog:
    """Return a catalog whose topics can decode the rows of unit tests."""
    topics = {
        id_: replace(
            topic, format=with_written_schema(topic.format), key_format=with_written_schema(topic.key_format)
        )
        for id_, topic in catalog.topics.items()
    }
    return catalog if topics == catalog.topics else replace(catalog, topics=topics)


def written_ids(catalog: Catalog) -> dict[str, int]:
    """Return the ids by which sinks write in unit tests, by subject: `with_written_schema` reads them."""
    stored = [spec.materialization for spec in catalog.models.values()]
    encodings = [encoding for output in stored for _, encoding in output.encodings]
    return {encoding.subject: encoding.schema_id for encoding in encodings if encoding.subject}
