"""The table of a run on a terminal: what each query does now, and totals."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from millstream.cli.diagnostics import count_of
from millstream.core.node_id import NodeId
from millstream.core.text import clean_text
from millstream.deploy.values import MachineUsage
from millstream.ops.query_status import QueryStatus
from millstream.ops.rates import RecentRates

_NAMES = 44
_LONG = 5.0
"""Seconds after which a batch that is still running is shown with its time."""
_STYLES = {
    "running": "green",
    "waiting": "yellow",
    "failed": "bold red",
    "rebuilding": "cyan",
    "stopped": "dim",
}
_COLUMNS = ("rows", "rows/s", "batch", "latency", "lag", "late", "bad", "failures", "keys")


class LiveView:
    """Remembers how many rows each query had read a short time ago."""

    def __init__(self) -> None:
        self._rates = RecentRates()

    def shown(self, seen: Sequence[QueryStatus], stage: str, machine: MachineUsage) -> Group:
        now = time.time()
        rates = {
            status.query: self._rates.of(NodeId("query", status.query), status.rows, now) for status in seen
        }
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("query", max_width=_NAMES, no_wrap=True)
        table.add_column("", no_wrap=True)
        for name in _COLUMNS:
            table.add_column(name, justify="right", no_wrap=True)
        for status in seen:
            table.add_row(*_row(status, rates[status.query], now))
        if len(seen) > 1:
            table.add_row(*_totals(seen, sum(rates.values())), style="bold")
        notes = "; ".join(filter(None, (_turns(len(seen), machine), stage)))
        return Group(table, Text(notes, "dim"))


def _turns(queries: int, machine: MachineUsage) -> str:
    """Say that queries take turns, if there are more than may run a batch at a time."""
    if not 0 < machine.at_once < queries:
        return ""
    return f"{machine.at_once} of {queries} queries at a time on {count_of(machine.cores, 'core')}"


def _row(seen: QueryStatus, rate: float, now: float) -> list[Text]:
    batch, lag = seen.last, sum(seen.lag.values())
    return [
        Text(clean_text(seen.query)),
        Text(_status(seen, now), _STYLES[seen.status]),
        Text(f"{seen.rows:,}"),
        Text(f"{rate:,.0f}"),
        Text(f"{batch.seconds:.1f} s" if batch else ""),
        Text(_time(batch.latency) if batch and batch.latency is not None else ""),
        Text(f"{lag:,}" if batch else "", "yellow" if lag else "dim"),
        _number(seen.late, "yellow"),
        _number(seen.bad, "yellow"),
        _number(seen.failures, "red"),
        _number(batch.state_rows if batch else 0),
    ]


def _totals(seen: Sequence[QueryStatus], rate: float) -> list[Text]:
    return [
        Text("total"),
        Text(""),
        Text(f"{sum(status.rows for status in seen):,}"),
        Text(f"{rate:,.0f}"),
        Text(""),
        Text(""),
        Text(f"{sum(sum(status.lag.values()) for status in seen):,}"),
        _number(sum(status.late for status in seen)),
        _number(sum(status.bad for status in seen)),
        _number(sum(status.failures for status in seen)),
        _number(sum(status.last.state_rows for status in seen if status.last)),
    ]


def _status(seen: QueryStatus, now: float) -> str:
    """Say what a query does, and for how long if that is long."""
    if seen.status != "running":
        return seen.status
    if seen.last is None and not seen.caught_up:
        return f"first batch: {now - seen.started:.0f} s" if seen.started else "starting"
    busy = now - seen.last_active
    return f"batch: {busy:.0f} s" if busy > _LONG and any(seen.lag.values()) else "running"


def _time(seconds: float) -> str:
    """Return a time in the unit that fits: old records may be years behind."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.1f} s"


def _number(number: int, style: str = "") -> Text:
    return Text(f"{number:,}" if number else "", style)
