"""`millstream state`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

import click

from millstream.cli import result_values
from millstream.cli.diagnostics import count_of
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command, selection_options
from millstream.cli.output import print_json, print_result, say_parts, terminal_width
from millstream.cli.project import compile_for, empty_selection_errors, root_of, select_nodes, target_of
from millstream.cli.text_tables import text_table
from millstream.core.byte_sizes import size_in_words
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from millstream.project.values import Target
    from millstream.runner.samples.state_sizes import OperatorSize
    from millstream.runner.samples.states import StateReader
    from millstream.stores.tables.values import Answer

Action = Literal["ls", "get", "export"]
_SHOWN = 100


@cli_command(
    "state",
    "millstream state",
    "millstream state --select daily_totals+ --count   # also keys and the oldest one",
    "millstream state get totals anna",
    "millstream state export totals --output csv > totals.csv",
    outputs=("csv",),
    environments=True,
)
@click.argument("action", type=click.Choice(("ls", "get", "export")), default="ls")
@click.argument("model", required=False)
@click.argument("key", nargs=-1)
@selection_options
@click.option("--count", "counted", is_flag=True, help="With ls: read the states, and count their keys.")
def command(
    common: CommonOptions,
    request: SelectionRequest,
    *,
    action: Action,
    model: str | None,
    key: tuple[str, ...],
    counted: bool,
) -> int:
    """Show the size or the contents of query state.

    `ls`, the default, shows for each stateful step its rows and memory after the last batch that a `build` or
    a `run` reported (a run reports every 10 seconds), its files, about how long they take to load after a
    restart, and its watermark. It starts no JVM, unless
    checkpoints are not on this machine. With --count, Spark reads the states, counts their keys, and finds
    the oldest time among those that are windows, have a time, or expire.

    `get` shows what a MODEL remembers of a KEY: the values of its key columns in order, as text; a window is
    identified by its start. `export` writes all of a model's state; --output json or csv is for programs.
    Both read the last completed batch with Spark, also while `run` runs. Columns are named after the model's
    keys and aggregates; where Spark keeps several values for an aggregate, it has several columns.
    """
    if (action == "ls") is not (model is None):
        raise click.UsageError(
            f"`state {action}` {'takes no MODEL: use --select' if model else 'needs a MODEL'}"
        )
    if bool(key) is not (action == "get"):
        raise click.UsageError("a KEY belongs to `state get`")
    root = root_of(common)
    target = target_of(common, root)
    if action == "ls":
        return _list(common, request, root, target, counted=counted)
    assert model is not None
    with _reader(common, root, target) as reader:
        state_rows = reader.rows(
            model, key, _SHOWN if action == "export" and common.output == "text" else None
        )
        if not state_rows:
            models = sorted({name for size in reader.sizes() for name in size.models})
            remedy = did_you_mean(
                model, models, f"models with state: {', '.join(models) or 'none has been built'}"
            )
            message = f"'{model}' has no state on target '{target.name}'"
            raise MillstreamError(Diagnostic("MS899", message, None, remedy))
    return _show_rows(common, state_rows, ZoneInfo(target.settings.get("timezone", "UTC")))


def _list(
    common: CommonOptions, request: SelectionRequest, root: Path, target: Target, *, counted: bool
) -> int:
    from millstream.project.folders import checkpoints_of
    from millstream.runner.samples.state_sizes import local_files, measure_states

    models = None
    if not request.everything:
        compiled = compile_for(common, root)
        selection = select_nodes(common, compiled, request)
        if not selection.ids and (diagnostics := empty_selection_errors(request, selection)):
            raise MillstreamError(*diagnostics)
        models = {id_.name for id_ in selection.ids if id_.kind == "model"}
    checkpoints = checkpoints_of(target, root)
    files = local_files(checkpoints)
    if files is not None and not counted:
        states = [size for size in measure_states(files, checkpoints) if _is_in(size, models)]
    else:
        with _reader(common, root, target) as reader:
            states = [size for size in reader.sizes() if _is_in(size, models)]
            states = [reader.counted(size) for size in states] if counted else states
    text = text_table(_lines(states, counted=counted), right=range(3, 8 if counted else 7))
    return print_result(
        common.style, result={"states": to_builtins(states)}, text=text or "no query has state yet"
    )


def _is_in(size: OperatorSize, models: set[str] | None) -> bool:
    return models is None or bool(models.intersection(size.models))


@contextmanager
def _reader(common: CommonOptions, root: Path, target: Target) -> Iterator[StateReader]:
    from millstream.project.folders import checkpoints_of, target_folder
    from millstream.runner.samples.states import read_states

    log = target_folder(root, target) / "state-log"
    with (
        jar_progress(common.style) as fetched,
        read_states(target, checkpoints_of(target, root), log, fetched) as reader,
    ):
        yield reader


def _lines(states: Sequence[OperatorSize], *, counted: bool) -> Iterator[tuple[str, ...]]:
    more = ("KEYS",) if counted else ()
    yield ("QUERY", "STEP", "MODELS", *more, "ROWS", "MEMORY", "DISK", "RESTORE", "WATERMARK", "MEASURED") + (
        ("OLDEST",) if counted else ()
    )
    for state in states:
        keys = (f"{state.keys:,}",) if counted else ()
        yield (
            *(state.query, state.operator, ", ".join(state.models), *keys),
            *("?" if state.rows is None else f"{state.rows:,}", _size(state.memory), _size(state.disk)),
            *(_time(state.restore_seconds), state.watermark, state.measured),
            *((state.oldest,) if counted else ()),
        )


def _size(number: int | None) -> str:
    return "?" if number is None else size_in_words(number)


def _time(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds:,.1f} s"


def _show_rows(
    common: CommonOptions, state_rows: Sequence[tuple[OperatorSize, Answer]], zone: ZoneInfo
) -> int:
    if common.style.json:
        states = [
            {"query": size.query, "step": size.operator, "columns": rows.columns}
            | {"rows": result_values.to_objects(rows.columns, rows.rows, zone)}
            for size, rows in state_rows
        ]
        print_json({"diagnostics": [], "states": states})
        return 0
    for size, rows in state_rows:
        if common.output == "csv":
            click.echo(result_values.format_csv(rows.columns, rows.rows, zone))
            continue
        from millstream.cli.result_tables import format_table

        width = terminal_width(common.style, sys.stdout)
        say_parts(common.style, format_table(rows.columns, rows.rows, width, zone), sys.stdout)
        sys.stdout.flush()
        more = "; more rows exist: use --output csv or json" if rows.more else ""
        message = f"({size.operator} of {size.query}: {count_of(len(rows.rows), 'row')}{more})"
        click.echo(message, err=True)
    return 0
