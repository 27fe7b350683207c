"""The log of a run: rows of models and what Python functions log, within limits and without secrets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from millstream.core.encoding import to_builtins
from millstream.core.node_id import NodeId
from millstream.deploy.values import BatchCompleted, Event, FunctionLogged, LineLogged, QueryRunning, Tell
from millstream.plan.nodes import RowLog
from millstream.project.secrets import Secret, mask_secrets, secrets_in, secrets_of_environment
from millstream.project.values import Target
from millstream.queries.values import logs_of

OF_FUNCTION = 600
"""The most lines per minute of one function."""
MINUTE = 60.0


class _Limit(Struct):
    """How many lines of a model or a function were logged in the current minute."""

    began: float
    lines: int = 0
    left_out: int = 0


class RunLog:
    """Passes events on, and adds a line for each row or record that is logged."""

    def __init__(self, target: Target, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._secrets: list[Secret] = [*secrets_in(target.settings), *secrets_of_environment()]
        self._lock = threading.Lock()
        self._limits: dict[str, _Limit] = {}
        """By model, or by function with `()`."""
        self._logs: dict[NodeId, RowLog] = {}
        self._rebuilding: set[str] = set()

    def tell(self, event: Event) -> None:
        match event:
            case FunctionLogged():
                self._of_function(event)
            case QueryRunning(query=query, rebuilding=rebuilding):
                self._logs |= logs_of(query)
                (self._rebuilding.add if rebuilding else self._rebuilding.discard)(query.name)
                self._tell(event)
            case BatchCompleted(query=name, batch=batch):
                self._tell(event)
                if name not in self._rebuilding:  # its rows were logged when they were stored first
                    for model, (rows, texts) in batch.logs.items():
                        self._of_rows(model, rows, texts)
            case _:
                self._tell(event)
        self._report_left_out()

    def _of_rows(self, model: NodeId, rows: int, texts: list[str]) -> None:
        log, name = self._logs[model], model.name
        allowed = self._take(name, log.per_minute, len(texts), rows)
        for text in texts[:allowed]:
            position, _, row = ("", "", text) if text.startswith("{") else text.partition(" ")
            data: dict[str, Any] = {"model": name, **_position(position)}
            row = mask_secrets(row, self._secrets)
            try:
                data["row"] = json.loads(row)
            except ValueError:  # it was too long, and is cut
                data["cut"] = row
            message = f"{name} {position}: {row}" if position else f"{name}: {row}"
            self._tell(LineLogged(log.level, message, data))

    def _of_function(self, logged: FunctionLogged) -> None:
        name = f"{logged.function}()"
        allowed = self._take(name, OF_FUNCTION, 1, 1 + logged.left_out)
        if not allowed:
            return
        fields = json.loads(mask_secrets(json.dumps(to_builtins(logged)), self._secrets))
        data = {
            name: fields[name]
            for name in ("function", "models", "logger", "message", "exception")
            if fields[name]
        }
        key: dict[str, str] = fields["at"]
        if model := key.pop("model", ""):
            data["models"] = model.split(" and ")
        models = ", ".join(data.get("models", ()))
        if set(key) == {"topic", "partition", "offset"}:
            position = f"{key['topic']}-{key['partition']}-{key['offset']}"
            data |= _position(position)
            location = f" {position}"
        else:
            data |= {"key": key} if key else {}
            location = "".join(f", {name} {value}" for name, value in key.items())
        why = f": {fields['exception'].strip().splitlines()[-1]}" if fields["exception"] else ""
        message = f"{name} of {models}{location}: {fields['message']}{why}"
        self._tell(LineLogged(logged.level, message, data))

    def _take(self, name: str, most: int, lines: int, all_of_them: int) -> int:
        """Return how many lines may be logged now; the others are counted."""
        with self._lock:
            limit = self._limits.setdefault(name, _Limit(self._clock()))
            allowed = max(0, min(lines, most - limit.lines))
            limit.lines += allowed
            limit.left_out += all_of_them - allowed
            return allowed

    def _report_left_out(self) -> None:
        """Say at the end of each minute how much was left out of it."""
        with self._lock:
            ended = {
                name: limit for name, limit in self._limits.items() if self._clock() - limit.began >= MINUTE
            }
            for name in ended:
                del self._limits[name]
        for name, limit in ended.items():
            self._say_left_out(name, limit)

    def close(self) -> None:
        """Say what was left out last."""
        with self._lock:
            ended, self._limits = self._limits, {}
        for name, limit in ended.items():
            self._say_left_out(name, limit)

    def _say_left_out(self, name: str, limit: _Limit) -> None:
        if limit.left_out:
            function = name.endswith("()")
            key, value = ("function", name.removesuffix("()")) if function else ("model", name)
            message = f"{name}: {limit.left_out:,} more in this minute, above the limit"
            self._tell(LineLogged("warning", message, {key: value, "left_out": limit.left_out}))


def _position(text: str) -> dict[str, Any]:
    if not text:
        return {}
    topic, partition, offset = text.rsplit("-", 2)
    return {"topic": topic, "partition": int(partition), "offset": int(offset)}
