"""Avro files as fastavro writes and reads them."""

import fastavro


def write_avro(file, fields, rows, codec="null"):
    """Write rows; `fields` are the types of a record's fields, by name."""
    schema = {
        "type": "record",
        "name": "Written",
        "fields": [{"name": name, "type": type_} for name, type_ in fields.items()],
    }
    hidden = file.with_name(f".{file.name}")
    with hidden.open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(schema), rows, codec=codec)
    hidden.rename(file)


def read_avro(file):
    with file.open("rb") as stream:
        return list(fastavro.reader(stream))
