"""Evaluates selectors to sets of nodes."""

from collections.abc import Callable

from msgspec import Struct

from millstream.compile.graph import Graph, walk_graph
from millstream.compile.selectors.methods import METHODS, is_pattern
from millstream.compile.selectors.values import (
    Criterion,
    Indirect,
    SelectionContext,
    SelectorDifference,
    SelectorIntersection,
    SelectorUnion,
    Spec,
)
from millstream.core.errors import Diagnostic, nearest_name
from millstream.core.node_id import NodeId

Ids = frozenset[NodeId]


class SelectorMatches(Struct, frozen=True):
    """The selected nodes, and tests that are added once their inputs are selected."""

    direct: Ids
    cautious: Ids = frozenset()
    buildable: Ids = frozenset()


class SelectorEvaluation(Struct, frozen=True):
    graph: Graph
    context: SelectionContext
    with_tests: bool
    named: dict[str, SelectorMatches]
    """The matches of YAML selectors, by name."""
    warnings: list[Diagnostic]

    def find(self, spec: Spec) -> SelectorMatches:
        match spec:
            case Criterion():
                return self.criterion(spec)
            case SelectorUnion(parts=parts):
                return self.combine(
                    [self.find(part) for part in parts], lambda sets: frozenset().union(*sets)
                )
            case SelectorIntersection(parts=parts):
                matches = [self.find(part) for part in parts]
                combined = self.combine(matches, lambda sets: frozenset.intersection(*sets))
                if not combined.direct and all(one.direct for one in matches):
                    message = f"'{spec.text}' selects nothing: no node satisfies all of its parts"
                    remedy = "use a space to select nodes that satisfy any part"
                    self.warnings.append(spec.origin.warn("MS603", message, remedy))
                return combined
            case SelectorDifference(included=included, excluded=excluded):
                return self.subtract(self.find(included), self.find(excluded))

    def criterion(self, criterion: Criterion) -> SelectorMatches:
        mode = criterion.indirect or "eager" if self.with_tests else "empty"
        if criterion.method == "selector":
            # It has added its tests by its own rules; only nodes that the operators add can add more.
            named = self.named[criterion.value]
            if not named.direct and not self.warnings:
                self.warnings.append(nothing_selected(criterion, self.graph))
            around = self.attach_tests(self.neighbours(criterion, named.direct), mode)
            return self.combine([named, around], lambda sets: sets[0] | sets[1])
        matched = self.matched(criterion)
        if not matched:
            self.warnings.append(nothing_selected(criterion, self.graph))
        return self.attach_tests(matched | self.neighbours(criterion, matched), mode)

    def matched(self, criterion: Criterion) -> Ids:
        match criterion.method:
            case "state" | "result":
                lookup = self.context.state if criterion.method == "state" else self.context.result
                return frozenset(lookup(criterion.value) if lookup else ()).intersection(self.graph.nodes)
            case name:
                matches = METHODS[name].matches(criterion.value, criterion.arguments)
                return frozenset(id_ for id_, node in self.graph.nodes.items() if matches(node))

    def neighbours(self, criterion: Criterion, matched: Ids) -> Ids:
        """Follow the graph from the matches, by `@` and `+`."""
        parents, children = self.graph.parents, self.graph.children
        reached = walk_graph(matched, parents, criterion.parents) | walk_graph(
            matched, children, criterion.children
        )
        if criterion.childrens_parents:
            family = matched | walk_graph(matched, children)
            reached |= family | walk_graph(family, parents)
        return reached

    def attach_tests(self, selected: Ids, mode: Indirect) -> SelectorMatches:
        """Add the tests of selected nodes, by dbt's four modes of indirect selection."""
        if mode == "empty":
            return SelectorMatches(selected)
        tests = frozenset(
            child
            for id_ in selected
            for child in self.graph.children[id_]
            if child not in selected and self.graph.nodes[child].kind in {"test", "unit_test"}
        )
        if mode == "eager":
            return SelectorMatches(selected | tests)
        pending = (
            SelectorMatches(selected, cautious=tests)
            if mode == "cautious"
            else SelectorMatches(selected, buildable=tests)
        )
        return self.resolve(pending)

    def resolve(self, matches: SelectorMatches) -> SelectorMatches:
        """Add pending tests whose parents are all selected, or for `buildable`, at least upstream."""
        if not matches.cautious and not matches.buildable:
            return matches
        parents = self.graph.parents
        joined = {test for test in matches.cautious if matches.direct.issuperset(parents[test])}
        if matches.buildable:
            available = matches.direct | walk_graph(matches.direct, parents)
            available |= {id_ for id_, node in self.graph.nodes.items() if node.kind == "source"}
            joined |= {test for test in matches.buildable if available.issuperset(parents[test])}
        direct = matches.direct | joined
        return SelectorMatches(direct, matches.cautious - direct, matches.buildable - direct)

    def subtract(self, included: SelectorMatches, excluded: SelectorMatches) -> SelectorMatches:
        return self.combine([included, excluded], lambda sets: sets[0] - sets[1])

    def combine(self, parts: list[SelectorMatches], operation: Callable[[list[Ids]], Ids]) -> SelectorMatches:
        direct = operation([part.direct for part in parts])
        cautious = operation([part.direct | part.cautious for part in parts]) - direct
        buildable = operation([part.direct | part.buildable for part in parts]) - direct
        return self.resolve(SelectorMatches(direct, cautious, buildable))


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
