"""Plans in which models have the states of the models whose topics they read, and what edits mean for them."""

from msgspec import structs

from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rule_selection import select_rules
from millstream.queries.physical_plan import physical_plan
from millstream.queries.references import reference_outputs
from millstream.queries.topology import hints_of, physical_settings
from millstream.queries.verdict import compare_signatures

STRICTNESS = ("same", "stored", "mixed", "rebuild")


def in_one_query(topology):
    """Return a query for each model, as if all copied the states below the topics that they read."""
    catalog = topology.catalog
    plan = optimize_plan(topology.written, select_rules("all"), hints_of(catalog, one_query=True)).plan
    settings = structs.replace(physical_settings(catalog), grouping="off")
    references = reference_outputs(plan, catalog.references)
    tables = reference_outputs(topology.written, catalog.topics)
    physical = physical_plan(plan, settings, None, references, topology.written, tables)
    return {model.removeprefix("model."): query for query in physical.queries for model in query.stored}


def readers_of(writer, queries):
    """Return the models whose queries have all states of the query of a writer."""
    states = {model: {o.name for o in query.signature.operators} for model, query in queries.items()}
    return {model for model, names in states.items() if states[writer] and states[writer] <= names}


def less_strict(writer, before, after):
    """Return the verdict of a writer, and less strict ones of models that have its states."""
    verdicts = {
        model: compare_signatures(before[model].signature, after[model].signature).kind
        for model in readers_of(writer, before)
        if model in after
    }
    least = STRICTNESS.index(verdicts.get(writer, "same"))
    return verdicts.get(writer), {
        model: kind for model, kind in verdicts.items() if STRICTNESS.index(kind) < least
    }
