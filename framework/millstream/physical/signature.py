"""Signatures of queries: what each stateful operator stores, and how; equal signatures mean equal state.

Spark checks the names and types of a state's columns by position and little else. So everything that an
operator computes is followed down to columns of sources, with digests for the bodies of functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from millstream.materialization import Table
from millstream.physical.emit.names import node_name
from millstream.physical.meanings import Meanings, digest
from millstream.physical.passing import Passing
from millstream.physical.values import Operator, Stored
from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of


class Signatures:
    """The states of queries over one plan."""

    def __init__(self, functions: Mapping[str, str], written: Plan) -> None:
        self._meanings = Meanings(functions)
        self._written = {output.model: output.input for output in written.outputs}
        self._written_meanings = Meanings(functions, self._written)
        """As written."""
        self._passing = Passing(self._written, self._written_meanings)
        self._retained: list[Sequence[Output]] = []
        """Keeps nodes alive: results are stored by `id`, which Python would reuse for other nodes."""

    def operators(self, outputs: Sequence[Output]) -> tuple[Operator, ...]:
        """Return the stateful operators below some outputs, in the order in which rows reach them."""
        self._retained.append(outputs)
        order = in_order(outputs)
        states = states_in(order)
        if not states:
            return ()
        readers: dict[int, list[Node]] = {}
        for node in order:
            for each in node.inputs:
                readers.setdefault(id(each), []).append(node)
        self._meanings.describe(order)
        below = self._below(outputs)
        return tuple(
            Operator(
                operator_name(node),
                type(node).__name__.lower(),
                tuple(self._meanings.facts(node, readers)),
                digest("\n".join(sorted(below[id(node)]))),
            )
            for node in states
        )

    def stored(self, outputs: Sequence[Output]) -> tuple[Stored, ...]:
        """Describe the rows of tables, and of topics with one row for each key."""
        self._retained.append(outputs)
        return tuple(
            Stored(each.model, tuple(key.lower() for key in each.keys), self._rows(each))
            for each in outputs
            if isinstance(each.materialization, Table) or traits_of(each.input).mode == "upsert"
        )

    def _rows(self, output: Output) -> str:
        root = self._written.get(output.model, output.input)
        parts = [self._passing.rows(root)]
        parts += sorted(
            f"{c.name.lower()} {self._written_meanings.column(root, c.name)}" for c in root.columns
        )
        parts += [f"{each.name} {self._written_meanings.of(root, each.expression)}" for each in output.extras]
        stored = output.materialization
        order = stored.order_by if isinstance(stored, Table) else None
        return digest("\n".join([*parts, (order or "").lower()]))

    def _below(self, outputs: Sequence[Output]) -> Mapping[int, set[str]]:
        """Return for each state which rows reach it, according to the models as written."""
        found: dict[int, set[str]] = {}
        for output in outputs:
            optimized = states_in(in_order((output,)))
            root = self._written.get(output.model)
            own = optimized if root is None else states_in(in_order((root,)))
            for index, node in enumerate(optimized):
                # If rules changed the number of states, all rows of the model count.
                states = [own[index]] if len(own) == len(optimized) else own
                known = found.setdefault(id(node), set())
                known.update(self._passing.rows(each) for state in states for each in state.inputs)
                if root is not None and traits_of(root).mode == "append":
                    known.update(self._passing.above(root))
        return found


def states_in(order: Iterable[Node]) -> list[Node]:
    """Return the nodes that keep state between batches."""
    return [node for node in order if node.stateful and traits_of(node).mode != "static"]


def operator_name(node: Node) -> str:
    """Return an operator's name for users: its label, or its kind and models."""
    models = [model.rpartition(".")[2] for model in node.models]
    what = f"{type(node).__name__.lower()} of {', '.join(models)}"
    return node.label or (what if models else node_name(node))
