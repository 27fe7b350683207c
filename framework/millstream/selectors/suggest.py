"""Suggestions for a selector that selects nothing."""

from millstream.errors import Diagnostic, nearest
from millstream.graph import Graph
from millstream.selectors.methods import METHODS, is_pattern
from millstream.selectors.values import Criterion

_OTHER_METHODS = ("source", "exposure", "metric", "tag")
"""Methods to try for a bare name that is not a model."""


def nothing_selected(criterion: Criterion, graph: Graph) -> Diagnostic:
    message = f"'{criterion.text}' selects nothing"
    return criterion.origin.warn("MS603", message, _remedy(criterion, graph))


def _remedy(criterion: Criterion, graph: Graph) -> str:
    if criterion.method == "fqn" and (found := _by_other_method(criterion.value, graph)):
        return f"did you mean '{found}'?"
    known: set[str] = set()
    if method := METHODS.get(criterion.method):
        known.update(*(method.known(node, criterion.arguments) for node in graph.nodes.values()))
    if not is_pattern(criterion.value) and (close := nearest(criterion.value, sorted(known))):
        written = criterion.text.replace(criterion.value, close, 1)
        return f"did you mean '{written}'?"
    if criterion.method == "config" and not known:
        return f"no node has the setting '{'.'.join(criterion.arguments)}'"
    return "`millstream ls` lists all nodes"


def _by_other_method(value: str, graph: Graph) -> str | None:
    for method in _OTHER_METHODS:
        for node in graph.nodes.values():
            for known in METHODS[method].known(node, ()):
                if value == known or (method == "source" and value == node.name):
                    return f"{method}:{known}"
    return None
