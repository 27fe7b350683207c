"""Features of the language server, over pipes."""

import pytest
from editor.conftest import SHOP

TOTALS, EVERYTHING = "models/totals.sql", "models/everything.sql"
HITS = "models/marts/traffic/region_hit_counts_5s.sql"


@pytest.mark.parametrize(
    ("path", "marker", "expected"),
    [
        (TOTALS, "stg_clicks", ("models/stg_clicks.sql", 1, "")),
        ("models/stg_clicks.sql", "clicks') }}", ("models/sources.yml", 4, "clicks")),
        ("models/stg_clicks.sql", "web", ("models/sources.yml", 4, "clicks")),
        (TOTALS, "cleaned group", (TOTALS, 2, "cleaned")),
        (TOTALS, "euros) as", (TOTALS, 3, "euros")),
        (TOTALS, "total", (TOTALS, 5, "total")),
        (TOTALS, "amount)", ("models/stg_clicks.sql", 1, "amount")),
        (TOTALS, "cents(", ("macros/money.py", 1, "cents")),
        ("models/stg_clicks.sql", "c.amount", ("models/sources.yml", 4, "clicks")),
        ("models/stg_clicks.sql", "amount", ("models/sources.yml", 7, "amount")),
        ("models/shop.yml", "totals", (TOTALS, 1, "")),
        ("models/shop.yml", "amount", ("models/stg_clicks.sql", 1, "amount")),
        ("models/shop.yml", "stg_clicks')", ("models/stg_clicks.sql", 1, "")),
    ],
)
def test_definition(shop, path, marker, expected):
    shop.open(path)
    assert shop.definition(path, marker) == [expected]


def test_definition_of_macros_and_of_what_is_behind_a_star(shop):
    shop.open("models/more.sql", "select kind from {{ ref('everything') }} where {{ at_least('amount') }}")
    assert shop.definition("models/more.sql", "at_least") == [("macros/limits.sql", 1, "at_least")]
    shop.open("models/stg_clicks.sql")
    assert shop.definition("models/more.sql", "kind") == [("models/stg_clicks.sql", 1, "kind")]


def test_references_of_a_column_follow_models_ctes_stars_and_yaml(shop):
    shop.open("models/stg_clicks.sql")
    shop.open("models/more.sql", "select e.amount + 1 as more from {{ ref('everything') }} as e")
    expected = [
        ("models/stg_clicks.sql", 1, "amount"),
        ("models/more.sql", 1, "amount"),
        ("models/shop.yml", 6, "amount"),
        (TOTALS, 3, "amount"),
    ]
    shop.open(TOTALS)
    assert shop.references(TOTALS, "amount)") == expected


def test_references_of_a_model(shop):
    shop.open(TOTALS)
    locations = shop.references(TOTALS, "stg_clicks", declaration=False)
    assert locations == [
        (EVERYTHING, 1, "stg_clicks"),
        ("models/shop.yml", 2, "stg_clicks"),
        ("models/shop.yml", 15, "stg_clicks"),
        (TOTALS, 3, "stg_clicks"),
    ]


def test_references_of_functions_and_macros(shop, example):
    shop.open("macros/money.py")
    assert shop.references("macros/money.py", "cents") == [
        ("macros/money.py", 1, "cents"),
        (TOTALS, 3, "cents"),
    ]
    example.open(HITS)
    locations = example.references(HITS, "window_key(", declaration=False)
    assert ("models/marts/engagement/hourly_user_activity.sql", 4, "window_key") in locations
    assert (HITS, 1, "window_key") not in locations  # the column that `config` names
    example.close(HITS)


@pytest.mark.parametrize(
    ("path", "marker", "texts"),
    [
        (TOTALS, "stg_clicks", ["model, view", "Clicks of people", "| `amount` | `bigint` |"]),
        (TOTALS, "amount)", ["**amount**: `bigint`", "model.stg_clicks", "From `source.web.clicks.amount`"]),
        (TOTALS, "total", ["**total**: `double`", "model.totals", "(computed)"]),
        (TOTALS, "user_id, sum", ["**user_id**: `string`", "Who clicked", "Tests: not_null"]),
        (TOTALS, "cleaned", ["**cleaned**: a CTE"]),
        (TOTALS, "euros)", ["**euros**: `double`"]),
        (TOTALS, "cents(", ["cents(amount: bigint) -> double", "Return euros of cents.", "runs natively"]),
        (TOTALS, "sum(", ["sum(", "aggregate", "a function of Spark"]),
        (TOTALS, "unique_key", ["`unique_key`: ", "table"]),
        (TOTALS, "materialized", ["One of ", "`sink`"]),
        ("models/shop.yml", "totals", ["model, table", "Runs in query `totals`", "State: a row per user_id"]),
        ("models/stg_clicks.sql", "web", ["**web.clicks**: source"]),
    ],
)
def test_hover(shop, path, marker, texts):
    shop.open(path)
    hover = shop.hover(path, marker)
    assert [text for text in texts if text not in hover] == [], hover


def test_hover_says_why_a_function_runs_in_python(shop):
    path = "macros/money.py"
    text = shop.open(path)
    shop.type(path, f"import json\n\n{text}".replace("return amount / 100", "return json.loads(str(amount))"))
    assert shop.definition(path, "cents") == [(path, 3, "cents")]  # waits until the edit is compiled
    assert "runs in Python over Arrow batches: " in shop.hover(path, "cents")


STAGING = SHOP["models/stg_clicks.sql"]


@pytest.mark.parametrize(
    ("path", "text", "marker", "expected", "others"),
    [
        (TOTALS, "select  from {{ ref('stg_clicks') }} as c", "select ", {"user_id", "amount", "c", "cents"}, {"sum"}),
        (TOTALS, "select su from {{ ref('stg_clicks') }} as c", "select su", {"user_id", "sum"}, {"max"}),
        (TOTALS, "select c. from {{ ref('stg_clicks') }} as c", "select c.", {"user_id", "amount", "kind"}, {"sum"}),
        (TOTALS, "select c.am from {{ ref('stg_clicks') }} as c", "select c.am", {"amount"}, {"sum"}),
        (TOTALS, "select c.item. from {{ ref('stg_clicks') }} as c", "c.item.", {"sku", "price"}, {"amount"}),
        (TOTALS, "select item.p from {{ ref('stg_clicks') }} as c", "item.p", {"sku", "price"}, {"amount"}),
        (TOTALS, "with a as (select kind as k from {{ ref('stg_clicks') }})\nselect  from a", "\nselect ", {"k", "a"}, {"amount"}),
        (TOTALS, "select user_id from {{ ref('stg_clicks') }} where ", " where ", {"amount"}, set()),
        (TOTALS, "select user_id from {{ ref('stg_clicks') }} where kind = '🎈' and am", " and am", {"amount"}, set()),
        (TOTALS, "select (( c.us from {{ ref('stg_clicks') }} as c", "c.us", {"user_id"}, set()),
        (TOTALS, "select user_id from {{ ref('", "ref('", {"stg_clicks", "everything"}, {"sum"}),
        (TOTALS, "select user_id from {{ ref('stg') }}", "ref('stg", {"stg_clicks"}, set()),
        (TOTALS, "select user_id from {{ source('", "source('", {"web"}, {"clicks"}),
        (TOTALS, "select user_id from {{ source('web', 'c') }}", "source('web', 'c", {"clicks"}, {"web"}),
        (TOTALS, "{{ config(mat) }} select 1", "config(mat", {"materialized", "unique_key"}, {"sum"}),
        (TOTALS, "{{ config(materialized='') }} select 1", "materialized='", {"table", "sink", "view"}, {"web"}),
        (TOTALS, "select {{ at }}", "{{ at", {"at_least", "ref"}, {"sum"}),
        ("models/shop.yml", "models:\n  - na", "- na", {"name", "columns", "config"}, {"topics"}),
        ("models/shop.yml", "models:\n  - name: ", "name: ", {"totals", "stg_clicks"}, set()),
        ("models/shop.yml", "models:\n  - name: totals\n    config: {materialized: ", "materialized: ", {"table"}, set()),
        ("models/shop.yml", "models:\n  - name: totals\n    columns:\n      - name: to", "\n      - name: to", {"user_id", "total"}, {"amount"}),
        ("models/shop.yml", "models:\n  - name: totals\n    columns:\n      - {name: user_id, tests: [", "tests: [", {"unique", "not_null"}, {"table"}),
        ("models/shop.yml", "exposures:\n  - name: x\n    depends_on: [ref('", "ref('", {"totals"}, set()),
        ("selectors.yml", "selectors:\n  - name: x\n    definition: ", "definition: ", {"tag:", "totals", "source:web.clicks"}, set()),
    ],
)  # fmt: skip
def test_completion(shop, path, text, marker, expected, others):
    shop.open(path, text)
    labels = shop.complete(path, marker).keys()
    assert expected - labels == set()
    assert others & labels == set()


def test_a_completion_replaces_what_was_typed(shop):
    shop.open(TOTALS, "select '🎈' as a, c.am from {{ ref('stg_clicks') }} as c")
    edit = shop.complete(TOTALS, "c.am")["amount"].text_edit
    assert (edit.new_text, edit.range.start.character, edit.range.end.character) == ("amount", 20, 22)


def test_nothing_is_known_of_nothing(shop):
    shop.open(TOTALS, "-- just a comment\n")
    assert shop.definition(TOTALS, "comment") == []
    assert shop.references(TOTALS, "comment") == []
    assert shop.hover(TOTALS, "comment") == ""
