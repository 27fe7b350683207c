"""`millstream lag`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from millstream.cli.jar_progress import jar_progress
from millstream.cli.jobs import compiled_job
from millstream.cli.options import (
    CommonOptions,
    SelectionRequest,
    StateOptions,
    cli_command,
    selection_options,
)
from millstream.cli.output import print_result, print_text
from millstream.cli.project import root_of
from millstream.cli.signals import stopping_well
from millstream.cli.text_tables import text_table
from millstream.core.encoding import to_builtins

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.ops.lag import TopicLag

_INTERVAL = 2.0
_SHOWN = 3


@cli_command(
    "lag",
    "millstream lag",
    "millstream lag --select daily_totals --partitions",
    "millstream lag --watch",
    "millstream lag --target production --output json",
    environments=True,
)
@selection_options
@click.option("--partitions", is_flag=True, help="Show each partition of each topic.")
@click.option("--watch", is_flag=True, help="Show it again every 2 seconds, until Ctrl-C.")
def command(common: CommonOptions, request: SelectionRequest, *, partitions: bool, watch: bool) -> int:
    """Show how far queries are behind their topics.

    For each query and topic: the number of records that it has not processed yet, and the age of the
    oldest one; of other sources, how many files or other units. It works while `run` or `build` runs, and
    when nothing runs. It starts no Spark, but the local broker, if that is stopped. What a query has read is
    in its checkpoint, or, if checkpoints are not on this machine, in the offsets that `run` commits to Kafka.
    A query that never ran has all records of its topics to read.
    """
    root = root_of(common)
    _, job, _ = compiled_job(common, root, request, StateOptions())

    from millstream.deploy.matched_topics import match_job
    from millstream.deploy.planning.query_selection import computing_queries
    from millstream.kafka.connection import connect_kafka
    from millstream.ops.lag import topic_lags
    from millstream.project.folders import checkpoints_of

    project = job.project
    checkpoints = checkpoints_of(project.target, root)
    with (
        stopping_well() as stopping,
        jar_progress(common.style) as fetched,
        connect_kafka(project, fetched) as admin,
    ):
        queries = match_job(job, admin).physical.queries
        if job.models is not None:
            queries = tuple(computing_queries(queries, job.models))
        while True:
            lags = topic_lags(admin, project, queries, checkpoints)
            result = {
                "lag": to_builtins(lags),
                "records": sum(lag.records for lag in lags if lag.unit == "records"),
            }
            text = text_table(_partition_rows(lags) if partitions else _rows(lags), right=(3, 4, 5, 6))
            if not watch:
                return print_result(common.style, result=result, text=text or "no query reads a topic")
            _show(common, result, text)
            if stopping.wait(_INTERVAL):
                return 0


def _show(common: CommonOptions, result: dict[str, object], text: str) -> None:
    import json
    import sys

    if common.style.json:
        click.echo(json.dumps({"time": time.time(), **result}))
    else:
        if sys.stdout.isatty():
            click.clear()
        print_text(common.style, text, sys.stdout)
        sys.stdout.flush()


def _rows(lags: Sequence[TopicLag]) -> Iterator[tuple[str, ...]]:
    yield "QUERY", "MODELS", "TOPIC", "RECORDS", "SECONDS"
    for lag in lags:
        name = lag.query if lag.is_read else f"{lag.query} (not started)"
        yield name, _models(lag), lag.topic, _amount(lag), _seconds(lag.seconds)


def _amount(lag: TopicLag) -> str:
    return f"{lag.records:,}" if lag.unit == "records" else f"{lag.records:,} {lag.unit}"


def _partition_rows(lags: Sequence[TopicLag]) -> Iterator[tuple[str, ...]]:
    yield "QUERY", "TOPIC", "PARTITION", "READ UP TO", "END", "RECORDS", "SECONDS"
    for lag in lags:
        for one in lag.partitions:
            numbers = (f"{one.read:,}", f"{one.end:,}", f"{one.records:,}", _seconds(one.seconds))
            yield lag.query, lag.topic, str(one.partition), *numbers


def _models(lag: TopicLag) -> str:
    more = len(lag.models) - _SHOWN
    return ", ".join(lag.models[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _seconds(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds:,.1f}" if seconds else "0"
