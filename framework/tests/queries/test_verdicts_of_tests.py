"""Which edits of data tests need a rebuild: those that decide which rows a table has."""

import pytest
from support.runs import job_of
from support.shops import TOTALS, Shop

from millstream.queries.verdict import compare_signatures

EVENTS = "from {{ source('web', 'events') }}"
MODELS = {
    "sink": f"{{{{ config(materialized='sink') }}}} select id, value {EVENTS}",
    "table": f"{{{{ config(materialized='table', unique_key='id') }}}} select id, value {EVENTS}",
    "sums": TOTALS.replace("as total", "as value"),
}


def signature(root, sql, severity, limit):
    shop = Shop(root, "")
    shop.model("totals", sql)
    if limit:
        test = f'{{expression: {{expression: "value < {limit}", severity: {severity}}}}}'
        shop.write("models/totals.yml", f"models: [{{name: totals, tests: [{test}]}}]")
    (query,) = job_of(root).physical.queries
    return query.signature


@pytest.mark.parametrize(
    "severity",
    [
        *(pytest.param(severity, marks=pytest.mark.long) for severity in ("warn", "dead_letter")),
        "error",
        "drop",
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_only_what_keeps_rows_out_of_a_table_changes_it(tmp_path, name, severity):
    deployed = signature(tmp_path / "deployed", MODELS[name], severity, 10)
    stored = severity in {"drop", "dead_letter"} and name != "sink"
    for limit, does in ((20, "keeps other rows out"), (None, "no longer keeps rows out")):
        change = compare_signatures(deployed, signature(tmp_path / str(limit), MODELS[name], severity, limit))
        assert change.kind == ("stored" if stored else "same")
        reasons = (f"totals: the test expression_totals {does}; stored rows would stay unchanged",)
        assert change.reasons == (reasons if stored else ())
