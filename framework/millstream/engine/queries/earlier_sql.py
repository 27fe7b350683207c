"""Whether a topic may have records that an earlier version of the SQL computed.

An edit may be accepted without a rebuild: then a query continues from its checkpoint, and records stay as
they are until their row changes. What the new SQL gives for a row as it was says nothing about such a record.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.queries.meanings import digest_text
from millstream.queries.values import QuerySignature
from millstream.stores.files import path_in, read_json, write_json
from millstream.stores.hadoop_files import files_of

_FILE = "_millstream_computed.json"
"""In the folder of a checkpoint."""


class _Computed(Struct, frozen=True):
    models: dict[str, str]
    """By model, a digest of all that decides its records."""
    mixed: bool
    """Some of the records may be from another version."""


def has_records_of_earlier_sql(session: SparkSession, signature: QuerySignature, checkpoint: str) -> bool:
    """Record by which SQL a query computes records, and return whether others may be in its topics."""
    files, path = files_of(checkpoint, session), path_in(checkpoint, _FILE)
    before = read_json(files, path, _Computed)
    models = {
        model.model: digest_text(
            msgspec.json.encode((model, signature.timezone, signature.settings)).decode()
        )
        for model in signature.stored
    }
    if before is None:
        mixed = bool(files.names(path_in(checkpoint, "offsets")))
    else:
        # A model that is new to the query sends all rows.
        edited = (before.models.get(model, now) != now for model, now in models.items())
        mixed = before.mixed or any(edited)
    computed = _Computed({**(before.models if before else {}), **models}, mixed)
    if computed != before:
        write_json(files, path, computed)
    return mixed
