"""How the query of a maintained table gets its rows: the differences between the table and its SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from millstream.core.encoding import to_json
from millstream.core.expressions import Expression, quote_name, render_sql
from millstream.plan.nodes import Maintained, Node, Output
from millstream.queries.meanings import digest_text
from millstream.queries.values import (
    PhysicalSettings,
    StaticRead,
    TableMaintenance,
    TableOutput,
    Target,
    tables_in,
)
from millstream.queries.view_names import Views


def maintaining_of(
    order: Iterable[Node],
    outputs: Sequence[Output],
    targets: Sequence[Target],
    reads: Iterable[StaticRead],
    views: Views,
    settings: PhysicalSettings,
) -> TableMaintenance | None:
    """Return how a query's table is maintained; None if its rows come from its sources."""
    node = next((maintained for maintained in order if isinstance(maintained, Maintained)), None)
    if node is None:
        return None
    (target,), (output,) = tables_in(targets), outputs
    by_relation = {read.relation: read for read in reads}
    return TableMaintenance(
        views.of(node.table, "differences"),
        target,
        node.maintenance,
        tuple(by_relation[relation] for relation in node.maintenance.relations),
        _digest(node, output, target, settings),
        " or ".join(f"coalesce({_of_new(check.wrong)}, false)" for check in output.checks if check.keeps_out),
    )


def maintaining_functions(order: Iterable[Node]) -> tuple[str, ...]:
    return tuple(name for node in order if isinstance(node, Maintained) for name in node.called)


def _of_new(expression: Expression) -> str:
    return f"({render_sql(expression, lambda ref: f'n.{quote_name(ref.column)}')})"


def maintenance_statements(plan: TableMaintenance) -> Iterator[tuple[str, str]]:
    """Yield what a change of an input makes the query run, each statement with a title."""
    maintenance, name = plan.maintenance, plan.target.model.last_name
    keys = ", ".join(maintenance.by)
    for affected in maintenance.touched:
        read = affected.relation.last_name
        yield f"the values of {keys} in {name} that changes of {read} touch", affected.sql
    if maintenance.restricted:
        if maintenance.weighted:
            yield f"the rows of {name} with these values, by weights", maintenance.weighted
        how = ", where a sum could be 0 or NULL" if maintenance.weighted else ""
        yield f"the rows of {name} with these values{how}", maintenance.restricted
    yield (
        (
            f"all rows of {name}, at first and after an edit"
            if keys
            else f"all rows of {name}, for each change"
        ),
        (maintenance.all_rows),
    )


def _digest(node: Maintained, output: Output, target: TableOutput, settings: PhysicalSettings) -> str:
    """Return a digest that changes whenever all rows must be computed again."""
    checks = (check.wrong for check in output.checks if check.keeps_out)
    parts = [
        node.maintenance.all_rows,
        *([node.maintenance.weighted] if node.maintenance.weighted else []),
        ", ".join(f"{column.name} {column.type}" for column in target.columns),
        ", ".join(node.keys),
        settings.timezone,
        to_json(sorted(settings.spark.items())).decode(),
        *(settings.seeds.get(relation, "") for relation in node.maintenance.relations),
        *(settings.functions.get(name, "") for name in node.called),
        *(str(sorted(settings.libraries.get(name, {}).items())) for name in node.called),
        *sorted(f"but not {render_sql(wrong)}" for wrong in checks),
        *(f"{extra.name} {render_sql(extra.expression)}" for extra in output.extras),
    ]
    return digest_text("\n".join(parts))
