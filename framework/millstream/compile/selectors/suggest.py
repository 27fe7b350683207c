"""Suggestions for a selector that selects nothing."""

from millstream.compile.graph import Graph
from millstream.compile.selectors.methods import METHODS, is_pattern
from millstream.compile.selectors.values import Criterion
from millstream.core.errors import Diagnostic, nearest_name

_OTHER_METHODS = ("source", "exposure", "metric", "tag")
"""Methods to try for a bare name that is not a model."""


def nothing_selected(criterion: Criterion, graph: Graph) -> Diagnostic:
    message = f"'{criterion.text}' selects nothing"
    return criterion.origin.warn("MS603", message, _remedy(criterion, graph))


def _remedy(criterion: Criterion, graph: Graph) -> str:
    if criterion.method == "fqn" and (alternative := _by_other_method(criterion.value, graph)):
        return f"did you mean '{alternative}'?"
    values: set[str] = set()
    if method := METHODS.get(criterion.method):
        values.update(*(method.values(node, criterion.arguments) for node in graph.nodes.values()))
    if not is_pattern(criterion.value) and (close := nearest_name(criterion.value, sorted(values))):
        written = criterion.text.replace(criterion.value, close, 1)
        return f"did you mean '{written}'?"
    if criterion.method == "config" and not values:
        return f"no node has the setting '{'.'.join(criterion.arguments)}'"
    return "`millstream ls` lists all nodes"


def _by_other_method(value: str, graph: Graph) -> str | None:
    for method in _OTHER_METHODS:
        for node in graph.nodes.values():
            for candidate in METHODS[method].values(node, ()):
                if value == candidate or (method == "source" and value == node.name):
                    return f"{method}:{candidate}"
    return None
