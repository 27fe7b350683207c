"""Queries that send what a source other than a topic can't decode: lines of files.

Each such source has one of its own, whichever models read the source, and they leave these lines out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.core.expressions import sql_literal
from millstream.plan.from_sql.catalog import RowSpec
from millstream.plan.nodes import Node, SourceScan
from millstream.queries.building import sends_exactly_once
from millstream.queries.dead_letters import FILE, LINE, REASON, SOURCE
from millstream.queries.values import (
    DeadLetters,
    MemoryEstimate,
    PhysicalSettings,
    Query,
    QuerySignature,
    SourceRead,
    ToKafka,
)


def bad_line_queries(
    order: Iterable[Node], sources: Iterable[RowSpec], settings: PhysicalSettings
) -> Iterator[Query]:
    """Yield a query for each source that models read and that sends dead letters; `order` has its readers."""
    read = {node.relation for node in order if isinstance(node, SourceScan)}
    return (_query(source, settings) for source in sources if source.dead_letters and source.id in read)


def _query(source: RowSpec, settings: PhysicalSettings) -> Query:
    read = SourceRead("bad_lines", source.id, source.kind, settings=source.settings, bad=True)
    letters = DeadLetters(source.id, source.dead_letters)
    return Query(
        name=f"{source.id.name.replace('.', '_')}_dead_letters",
        kind="stateless",
        models=(),
        sources=(read,),
        reads=(),
        steps=(),
        sql=_sql(source, read.view),
        deliver=ToKafka((letters,)),
        output_mode="append",
        signature=QuerySignature(
            (source.id,),
            (),
            ("",),
            settings.timezone,
            topics=(read.stream,),
            settings=settings.spark,
            settings_of={read.stream: source.settings},
        ),
        memory=MemoryEstimate(0, "it keeps no state"),
        realtime=(f"rows of {read.title} arrive in batches",),
        dead_letter_source=source.id,
        exactly_once=sends_exactly_once((letters,), settings.guarantee),
    )


def _sql(source: RowSpec, view: str) -> str:
    """Return the lines unchanged; headers have the file, the number of the line, and the reason."""
    values = {
        FILE: "file",
        LINE: "cast(number as string)",
        SOURCE: sql_literal(str(source.id)),
        REASON: "reason",
    }
    headers = ", ".join(
        f"named_struct('key', '{name}', 'value', cast({value} as binary))" for name, value in values.items()
    )
    return (
        f"select {sql_literal(source.dead_letters)} as topic, cast(null as binary) as key, line as value, "
        f"array({headers}) as headers\nfrom {view}"
    )
