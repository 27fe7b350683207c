"""What each stateful operator keeps and how it gets there, told so that equal texts mean equal state.

Spark checks the names and types of a state's columns by position and little else; so everything that an
operator computes is followed down to columns of sources, and the bodies of functions count as their digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from millstream.physical.emit.names import called
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
        self._meaning = Meanings(functions, self._written)
        """As written."""
        self._passing = Passing(self._written, self._meaning)
        self._asked: list[Sequence[Output]] = []
        """What is told of nodes is found by their `id`s: they are kept, or others could get these."""

    def operators(self, outputs: Sequence[Output]) -> tuple[Operator, ...]:
        """Return the stateful operators below some outputs, in the order in which rows reach them."""
        self._asked.append(outputs)
        order = in_order(outputs)
        states = states_in(order)
        if not states:
            return ()
        readers: dict[int, list[Node]] = {}
        for node in order:
            for each in node.inputs:
                readers.setdefault(id(each), []).append(node)
        self._meanings.tell(order)
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
        """Return what the rows are made of that stay where they are stored."""
        self._asked.append(outputs)
        kept = [each for each in outputs if each.kind == "table" or traits_of(each.input).mode == "upsert"]
        return tuple(
            Stored(each.model, tuple(key.lower() for key in each.keys), self._made(each)) for each in kept
        )

    def _made(self, output: Output) -> str:
        root = self._written.get(output.model, output.input)
        told = [self._passing.rows(root)]
        told += sorted(f"{c.name.lower()} {self._meaning.column(root, c.name)}" for c in root.columns)
        told += [f"{each.name} {self._meaning.of(root, each.expression)}" for each in output.extras]
        return digest("\n".join([*told, str(output.options.get("order_by") or "").lower()]))

    def _below(self, outputs: Sequence[Output]) -> Mapping[int, set[str]]:
        """Tell for each state which rows reach it, as the models that read it were written."""
        found: dict[int, set[str]] = {}
        for output in outputs:
            there = states_in(in_order((output,)))
            root = self._written.get(output.model)
            own = there if root is None else states_in(in_order((root,)))
            for place, node in enumerate(there):
                # Where rules made other states than were written, all rows of the model count.
                wanted = [own[place]] if len(own) == len(there) else own
                known = found.setdefault(id(node), set())
                known.update(self._passing.rows(each) for state in wanted for each in state.inputs)
                if root is not None and traits_of(root).mode == "append":
                    known.update(self._passing.above(root))
        return found


def states_in(order: Iterable[Node]) -> list[Node]:
    """Return the nodes that keep state as rows come."""
    return [node for node in order if node.stateful and traits_of(node).mode != "static"]


def operator_name(node: Node) -> str:
    """Return what an operator is called for people: by its models, where it has no name of its own."""
    models = [model.rpartition(".")[2] for model in node.models]
    what = f"{type(node).__name__.lower()} of {', '.join(models)}"
    return node.label or (what if models else called(node))
