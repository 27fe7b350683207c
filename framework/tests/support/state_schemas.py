"""The schemas of a query's states, as Spark writes them next to its checkpoint."""

import json
import re
import tempfile
from pathlib import Path

from millstream.runner.samples import trial

_ID = re.compile(r"\d+_[0-9a-f-]{36}")


def state_schemas(spark, streamed, query):
    """Run a query over no rows; return the columns of its states by their place in the checkpoint."""
    topics = {source.stream: [[]] for source in query.sources}
    session, streaming_trial = spark.newSession(), streamed.trial(query, topics, {})
    trial._stream(session, streaming_trial.feeds, 1)
    rows = trial._rows(session, streaming_trial)
    with tempfile.TemporaryDirectory(prefix="states-") as folder:
        writer = rows.writeStream.outputMode(query.output_mode).format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()
        states = Path(folder) / "checkpoint/state"
        files = [file for file in states.rglob("*") if file.is_file() and not file.name.startswith(".")]
        return {
            _ID.sub("", str(file.relative_to(states))): _columns(file.read_bytes().decode(errors="replace"))
            for file in files
            if (file.parent.name == "_metadata" and file.name == "schema") or "_stateSchema" in file.parts
        }


def _columns(text):
    """Return the columns of the structs in a file, each with its type and whether it can be NULL."""
    columns, position = [], 0
    while (position := text.find('{"type":"struct"', position)) >= 0:
        struct, end = json.JSONDecoder().raw_decode(text[position:])
        columns.append([(field["name"], str(field["type"]), field["nullable"]) for field in struct["fields"]])
        position += end
    return columns
