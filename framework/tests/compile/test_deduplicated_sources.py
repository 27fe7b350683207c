"""`deduplicate: position` of a source adds a step with state below all that its models do."""

from support.runs import job_of
from support.shops import TOTALS, Shop

from millstream.compile import compile_project
from millstream.queries.emit.steps import DedupeView

PLAIN = "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }} where kind = 'x'"


def queries(root, **source):
    shop = Shop(root, "")
    shop.source(**source)
    shop.model("plain", PLAIN)
    shop.model("totals", TOTALS)
    assert not [
        diagnostic
        for diagnostic in compile_project(root, use_cache=False).diagnostics
        if diagnostic.severity == "error"
    ]
    return {model: query for query in job_of(root).physical.queries for model in query.stored}


def test_the_step_reads_headers_and_keeps_a_state(tmp_path):
    by_model = queries(tmp_path, deduplicate="position")
    assert by_model.keys() == {"model.plain", "model.totals"}
    for query in by_model.values():
        (read,) = query.sources
        assert read.headers
        (step,) = (step for step in query.steps if isinstance(step, DedupeView))
        assert step.by_position
        assert any(operator.kind == "first_sent" for operator in query.signature.operators)
        assert any("drops duplicates" in why for why in query.realtime)


def test_by_default_there_is_none(tmp_path):
    by_model = queries(tmp_path)
    for query in by_model.values():
        assert not any(isinstance(step, DedupeView) for step in query.steps)
        assert not query.sources[0].headers
    assert not by_model["model.plain"].signature.stateful
