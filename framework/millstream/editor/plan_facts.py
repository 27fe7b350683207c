"""In which query a model runs, and what state it keeps."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec

from millstream.core.decoding import from_msgpack
from millstream.core.node_id import NodeId
from millstream.editor.project import EditorProject
from millstream.explain.facts import state_text
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import KnownTraits
from millstream.queries.topology import Topology, compiled_topology, groups_of, topology_of

_log = logging.getLogger(__name__)

MOST_MODELS = 50
"""Larger projects are planned by a process of their own: a thousand models take seconds."""

Facts = dict[NodeId, tuple[str, ...]]
_FACTS: WeakKeyDictionary[EditorProject, Facts] = WeakKeyDictionary()


def facts_of(view: EditorProject) -> Facts | None:
    """Return sentences about how models run; None if the project has errors, or was not planned yet."""
    if not view.compiled.catalog:
        return None
    if len(view.paths) > MOST_MODELS:
        return PLANNERS.setdefault(view.root, BackgroundPlanner()).facts_of(view.compiled.catalog)
    if view not in _FACTS:
        _FACTS[view] = _facts(compiled_topology(view.compiled))
    return _FACTS[view]


def _facts(topology: Topology) -> Facts:
    queries: dict[NodeId, list[str]] = {}
    for name, models in groups_of(topology).models.items():
        for model in models:
            others = [other.shown_name for other in models if other != model]
            shared = f" with {names_listed(others)}" if others else ""
            queries.setdefault(model, []).append(f"Runs in query `{name}`{shared}")
    states: dict[NodeId, list[str]] = {}
    traits = KnownTraits()
    for node in in_order(topology.written.outputs):
        if node.stateful and (text := state_text(node, traits.of(node))):
            for model in node.models:
                states.setdefault(model, []).append(f"State: {text}")
    return {id_: (*queries.get(id_, ()), *states.get(id_, ())) for id_ in {*queries, *states}}


_MOST_NAMES = 8


def names_listed(names: list[str]) -> str:
    left = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {left} others" if left > 0 else "")


class BackgroundPlanner:
    """Plans a large project in another process while its editor goes on, one version at a time."""

    def __init__(self) -> None:
        self._catalog = b""
        self._facts: Facts | None = None
        self._thread: threading.Thread | None = None

    def facts_of(self, catalog: bytes) -> Facts | None:
        """Return the facts of the last planned version, and plan this one if it is another."""
        busy = self._thread is not None and self._thread.is_alive()
        if not busy and catalog != self._catalog:
            self._thread = threading.Thread(target=self._plan, args=(catalog,), daemon=True)
            self._thread.start()
        return self._facts

    def _plan(self, catalog: bytes) -> None:
        command = [sys.executable, "-m", __name__]
        done = subprocess.run(command, input=catalog, capture_output=True, check=False)  # noqa: S603
        self._catalog = catalog
        if done.returncode:
            _log.error("the project could not be planned: %s", done.stderr.decode(errors="replace"))
            return
        facts = msgspec.msgpack.decode(done.stdout, type=dict[str, tuple[str, ...]])
        self._facts = {NodeId.parse(id_): sentences for id_, sentences in facts.items()}

    def wait(self) -> None:
        """Wait until the version that was given is planned."""
        if self._thread is not None:
            self._thread.join()


PLANNERS: dict[Path, BackgroundPlanner] = {}


def main() -> None:
    """Read a catalog, and write its facts."""
    with contextlib.suppress(OSError):
        os.nice(10)
    facts = _facts(topology_of(from_msgpack(sys.stdin.buffer.read(), Catalog)))
    encoded = msgspec.msgpack.encode({str(id_): sentences for id_, sentences in facts.items()})
    sys.stdout.buffer.write(encoded)


if __name__ == "__main__":
    main()
