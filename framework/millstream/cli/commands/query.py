"""`millstream query`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from zoneinfo import ZoneInfo

import click

from millstream.cli import result_values
from millstream.cli.diagnostics import as_data, count_of
from millstream.cli.environments import defer_as_built
from millstream.cli.failed_builds import failed_builds
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_json, say_parts, show_diagnostics, terminal_escaper, terminal_width
from millstream.cli.project import compile_for, project_of, root_of, target_of
from millstream.core.errors import Diagnostic
from millstream.stores.query import StoredProject, run_query
from millstream.stores.tables.relations import named_tables, relations_in
from millstream.stores.tables.values import Answer

SHOWN = 100
"""Rows that text output shows without --limit."""


@cli_command(
    "query",
    "millstream query 'select * from active_users limit 5'",
    "millstream query 'select count(*) from shop.products' --output json",
    "millstream query 'show tables'",
    "echo 'select * from segments' | millstream query - --output csv",
    outputs=("csv",),
    environments=True,
)
@click.argument("sql")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show at most N rows; default for text: {SHOWN}.",
)
def command(common: CommonOptions, *, sql: str, limit: int | None) -> int:
    """Query state tables, reference topics and seeds with SQL.

    Tables are named after their models, reference topics after their sources: `shop.products`. Queries are
    written in DataFusion SQL and run without a JVM. If all tables of a query are in one database, such as
    PostgreSQL or MySQL, that database runs it, in its own SQL. `show tables` lists the tables and seeds,
    `describe TABLE` the columns of one. `-` reads the SQL from standard input.
    """
    if sql == "-":
        sql = sys.stdin.read()
    root = root_of(common)
    # Stored tables can be queried although models have errors.
    compiled, target = defer_as_built(root, compile_for(common, root), target_of(common, root))
    nodes = compiled.manifest.nodes
    stored = StoredProject(root, target, relations_in(nodes.values()), lambda: project_of(common, root).seeds)
    bound = SHOWN if limit is None and common.output == "text" else limit
    answer = run_query(sql, stored, bound)
    read = [table.id for table in named_tables(sql, stored.relations)]
    return show_answer(common, answer, ZoneInfo(stored.zone), [*failed_builds(root, target, read)])


def show_answer(
    common: CommonOptions, result: Answer, zone: ZoneInfo, warnings: Sequence[Diagnostic] = ()
) -> int:
    if common.style.json:
        records = result_values.to_objects(result.columns, result.rows, zone)
        diagnostics = [as_data(warning, common.style.target) for warning in warnings]
        print_json(
            {"diagnostics": diagnostics, "columns": result.columns, "rows": records, "more": result.more}
        )
        return 0
    show_diagnostics(common.style, warnings)
    if common.output == "csv":
        click.echo(terminal_escaper(sys.stdout)(result_values.format_csv(result.columns, result.rows, zone)))
        return 0
    from millstream.cli.result_tables import format_table

    width = terminal_width(common.style, sys.stdout)
    say_parts(common.style, format_table(result.columns, result.rows, width, zone), sys.stdout)
    sys.stdout.flush()
    if not common.style.quiet:
        more = "; more rows exist, see --limit" if result.more else ""
        click.echo(f"({count_of(len(result.rows), 'row')}{more})", err=True)
    return 0
