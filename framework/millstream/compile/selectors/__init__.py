"""dbt's selectors: `select(graph, ["tag:nightly,orders+"])` returns the selected ids."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from types import MappingProxyType
from typing import Any

from millstream.compile.graph import Graph
from millstream.compile.selectors.definitions import (
    SelectorDefinition,
    find_loops,
    is_default,
    read_definition,
)
from millstream.compile.selectors.evaluate import SelectorEvaluation, SelectorMatches
from millstream.compile.selectors.grammar import locate_in_option, parse_selector
from millstream.compile.selectors.values import (
    Criterion,
    Selection,
    SelectionContext,
    SelectorOrigin,
    SelectorUnion,
    Spec,
    iterate_criteria,
)
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean

__all__ = ["Selection", "SelectionContext", "check_selectors", "select_nodes"]

_NONE: Mapping[str, Any] = MappingProxyType({})
_PLAIN = SelectionContext()


def select_nodes(
    graph: Graph,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    selectors: Mapping[str, Any] = _NONE,
    selector: str | None = None,
    context: SelectionContext = _PLAIN,
    *,
    with_tests: bool = False,
) -> Selection:
    """Return what the options select; without options, the default YAML selector or else everything.

    `with_tests` adds the tests of selected nodes: dbt's eager mode, unless YAML sets another one.
    """
    diagnostics: list[Diagnostic] = []
    chosen = _chosen(select, exclude, selectors, selector, context, diagnostics)
    excluded = SelectorUnion(
        tuple(parse_selector(text, locate_in_option("--exclude", text), diagnostics) for text in exclude)
    )
    requested = [*(iterate_criteria(chosen) if chosen else ()), *iterate_criteria(excluded)]
    definitions = _read(requested, selectors, context, diagnostics)
    used = [
        *requested,
        *(c for definition in definitions.values() for c in iterate_criteria(definition.spec)),
    ]
    diagnostics += find_loops(definitions) or _missing(used, context)
    if diagnostics:
        raise MillstreamError(*diagnostics)

    run = SelectorEvaluation(graph, context, with_tests, {}, [])
    references = {name: [c.value for c in definition.references] for name, definition in definitions.items()}
    for name in TopologicalSorter(references).static_order():
        run.named[name] = run.find(definitions[name].spec)
    everything = SelectorMatches(frozenset(graph.nodes))
    matches = run.subtract(run.find(chosen) if chosen else everything, run.find(excluded))
    ids = tuple(id_ for id_ in graph.order if id_ in matches.direct)
    return Selection(ids, tuple(dict.fromkeys(run.warnings)))


def check_selectors(
    selectors: Mapping[str, Any], context: SelectionContext = _PLAIN
) -> tuple[Diagnostic, ...]:
    """Report every error in the YAML selectors, including unused ones."""
    diagnostics: list[Diagnostic] = []
    names = [_reference(name, SelectorOrigin()) for name in selectors]
    definitions = _read(names, selectors, context, diagnostics)
    defaults = [definition for definition in definitions.values() if definition.default]
    for second in defaults[1:]:
        message = f"'{defaults[0].name}' is already the default selector"
        diagnostics.append(second.origin.report("MS607", message, "keep 'default: true' on one selector"))
    return (*diagnostics, *find_loops(definitions))


def _chosen(
    select: Sequence[str],
    exclude: Sequence[str],
    selectors: Mapping[str, Any],
    selector: str | None,
    context: SelectionContext,
    diagnostics: list[Diagnostic],
) -> Spec | None:
    """Return what to select, or None for everything."""
    if selector is not None:
        origin = locate_in_option("--selector", selector)(0, len(selector))
        if select or exclude:
            # dbt silently ignores --select here
            message = "--selector can't be combined with --select or --exclude"
            remedy = f"write `--select selector:{selector}`, which combines with both"
            diagnostics.append(origin.report("MS609", message, remedy))
        return _reference(selector, origin)
    if select:
        return SelectorUnion(
            tuple(parse_selector(text, locate_in_option("--select", text), diagnostics) for text in select)
        )
    defaults = [name for name, entry in selectors.items() if is_default(entry)]
    if exclude or not defaults:
        return None
    if len(defaults) > 1:
        diagnostics.extend(
            diagnostic for diagnostic in check_selectors(selectors, context) if diagnostic.code == "MS607"
        )
    return _reference(defaults[0], SelectorOrigin())


def _reference(name: str, origin: SelectorOrigin) -> Criterion:
    return Criterion(f"selector:{name}", "selector", name, origin)


def _read(
    requested: Iterable[Criterion],
    selectors: Mapping[str, Any],
    context: SelectionContext,
    diagnostics: list[Diagnostic],
) -> dict[str, SelectorDefinition]:
    """Read the YAML selectors that are used, directly or by others."""
    definitions: dict[str, SelectorDefinition] = {}
    seen: set[str] = set()
    pending = [criterion for criterion in requested if criterion.method == "selector"]
    for reference in pending:
        name = reference.value
        if name not in selectors:
            names = ", ".join(sorted(selectors)) or "none; define them in selectors.yml"
            remedy = did_you_mean(name, selectors, f"known selectors: {names}")
            diagnostics.append(reference.origin.report("MS604", f"selector '{name}' does not exist", remedy))
        elif name not in seen:
            seen.add(name)
            if definition := read_definition(name, selectors[name], context, diagnostics):
                definitions[name] = definition
                pending += definition.references
    return definitions


def _missing(used: Iterable[Criterion], context: SelectionContext) -> list[Diagnostic]:
    """Report criteria that need data which this command does not have."""
    needs = {
        "state": (
            context.state,
            "an earlier version to compare with",
            "add --state main, or a manifest.json",
        ),
        "result": (context.result, "the results of an earlier run", "select by name, path or tag instead"),
    }
    return [
        c.origin.report(
            "MS606", f"'{c.text}' needs {needs[c.method][1]}, which is missing", needs[c.method][2]
        )
        for c in used
        if c.method in needs and needs[c.method][0] is None
    ]
