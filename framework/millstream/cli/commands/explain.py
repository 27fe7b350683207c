"""`millstream explain`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import click

from millstream.cli.complete import complete_model
from millstream.cli.environments import defer_unchanged
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command, selection_options
from millstream.cli.output import print_result
from millstream.cli.project import (
    compile_valid,
    empty_selection_errors,
    models_in,
    project_of,
    root_of,
    select_nodes,
    target_of,
)
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.gc_pause import collector_paused
from millstream.core.text import FileText
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from rich.text import Text

    from millstream.explain.explanation import Explanation, ExplanationContext
    from millstream.explain.topology import Drawing
    from millstream.plan.optimizer.driver import RuleStep
    from millstream.queries.topology import Topology


@cli_command(
    "explain",
    "millstream explain",
    "millstream explain daily_totals --sql",
    "millstream explain --rule push_filters",
    "millstream explain --select tag:finance --format mermaid",
    "millstream explain --format kafka-streams    # for viewers of Kafka Streams' topologies",
    formats=("mermaid", "dot", "kafka-streams"),
    environments=True,
    offline=True,
)
@selection_options
@click.option("--rule", metavar="NAME", help="Only show what this rule did: the plan before and after it.")
@click.option("--sql", is_flag=True, help="Also show the SQL of each query.")
@click.option("--written", is_flag=True, help="Draw the plan as written; for mermaid, dot and kafka-streams.")
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=complete_model)
@collector_paused()
def command(
    common: CommonOptions,
    *,
    request: SelectionRequest,
    rule: str | None,
    sql: bool,
    written: bool,
    models: tuple[str, ...],
) -> int:
    """Show the plan as written and as optimized, and what each rule saved.

    The plans are shown side by side, or one below the other in a narrow terminal. Then follow what each rule
    changed, which models share a query and why others don't, how much memory states need, how each Python
    function runs, which SQL is opaque and what to write instead, and the cost of the plan per record.
    """
    if models and not request.everything:
        raise click.UsageError("names and --select, --exclude or --selector can't be combined")
    root = root_of(common)
    compiled = compile_valid(common, root)
    from millstream.explain.explanation_context import about_of
    from millstream.explain.state_memory import memory_warnings, stores_of
    from millstream.local.memory import memory_of_machine
    from millstream.project.folders import checkpoints_of
    from millstream.queries.topology import compiled_topology, physical_of
    from millstream.results.batch_stats import measured_batches
    from millstream.results.run_results import read_results

    named = SelectionRequest(models, (), None) if models else request
    selection = select_nodes(common, compiled, named)
    target = target_of(common, root)
    if target.environment is not None:
        compiled, _ = defer_unchanged(root, compiled, project_of(common, root))
    ids = None if named.everything else tuple(id_ for id_ in selection.ids if id_.kind == "model")
    if ids == () and (errors := empty_selection_errors(named, selection)):
        return print_result(common.style, [*compiled.diagnostics, *errors], models=models_in(compiled))
    settings, _ = read_settings(root)
    results = read_results(root / settings.target_path, compiled.manifest.project, compiled.manifest.target)
    topology = compiled_topology(compiled, results)
    physical = physical_of(topology)
    machine = memory_of_machine()
    stores = stores_of(target, root, len(physical.queries), machine)
    batches = measured_batches(checkpoints_of(target, root))
    about = about_of(compiled, topology, physical, settings.target_path, root, ids, stores, batches)
    explained = _explained(topology, about, rule, empty=ids == ())
    data, text = _shown(explained, common.output, rule=bool(rule), sql=sql, written=written)
    states = [state for query in about.queries for state in query.states]
    nodes = compiled.manifest.nodes
    files = {state.model: _file(root, nodes[state.model].path) for state in states if state.model in nodes}
    warnings = memory_warnings(states, stores, machine, files)
    diagnostics = [*compiled.diagnostics, *selection.diagnostics, *warnings]
    return print_result(common.style, diagnostics, result=data, text=text, models=models_in(compiled))


def _file(root: Path, path: str) -> FileText:
    return FileText(path, (root / path).read_text(encoding="utf-8"))


def _explained(
    topology: Topology, about: ExplanationContext, rule: str | None, *, empty: bool
) -> list[Explanation]:
    from millstream.explain.explanation import explain_plans, explain_step
    from millstream.plan.nodes import Plan
    from millstream.plan.optimizer.driver import OptimizedPlan

    if rule:
        return [explain_step(step, about) for step in _steps(topology, rule)]
    return [explain_plans(OptimizedPlan(Plan(()), Plan(())) if empty else topology.optimized, about)]


def _steps(topology: Topology, rule: str) -> list[RuleStep]:
    """Return what a rule did, step by step; raise if there is no such rule."""
    from millstream.plan.optimizer.rules import RULES

    names = [function.__name__ for function in RULES]
    if rule not in names:
        remedy = did_you_mean(rule, names, f"rules: {', '.join(names)}")
        raise MillstreamError(Diagnostic("MS701", f"there is no rule '{rule}'", None, remedy))
    return [step for step in topology.optimized.steps if step.rule == rule]


def _shown(
    explained: list[Explanation], output: str, *, rule: bool, sql: bool, written: bool
) -> tuple[dict[str, Any], str | Text]:
    """Return the result for programs and for people."""
    from millstream.explain.formats.json import as_data

    if output == "json":
        documents = [as_data(explanation) for explanation in explained]
        return ({"steps": documents} if rule else documents[0]), ""
    if output == "text":
        return {}, _text(explained, sql=sql)
    return {}, "\n\n".join(
        _draw(output, explanation.written if written else explanation.optimized) for explanation in explained
    )


def _draw(output: str, drawing: Drawing) -> str:
    from millstream.core.diagram import write_dot, write_mermaid
    from millstream.explain.formats.diagram import draw_diagram
    from millstream.explain.formats.kafka_streams import kafka_streams

    if output == "kafka-streams":
        return kafka_streams(drawing)
    return {"mermaid": write_mermaid, "dot": write_dot}[output](draw_diagram(drawing))


_STYLES = {"title": "bold", "good": "green", "warning": "yellow"}


def _text(explained: list[Explanation], *, sql: bool) -> Text:
    from rich.text import Text

    from millstream.explain.formats.text import format_lines

    if not explained:
        return Text("This rule changed nothing.")
    width = shutil.get_terminal_size((100, 24)).columns
    parts = [
        Text("\n").join(
            Text(line.text, _STYLES.get(line.kind, "")) for line in format_lines(explanation, width, sql=sql)
        )
        for explanation in explained
    ]
    return Text("\n\n").join(parts)
