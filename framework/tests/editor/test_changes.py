"""What an editor changes for its user: quick fixes and renames, after which the project compiles."""

import pytest
from editor.conftest import SHOP
from pygls.exceptions import JsonRpcException

from millstream.compile import compile_project

TOTALS, STAGING = "models/totals.sql", "models/stg_clicks.sql"


def errors_of(root):
    return [(d.code, d.message) for d in compile_project(root, use_cache=False).diagnostics]


def save_all(editor):
    for path in list(editor.texts):
        editor.save(path)


@pytest.mark.parametrize(
    ("path", "written", "wrong", "fixed"),
    [
        (TOTALS, "sum(euros)", "sum(euro)", "sum(euros)"),
        (TOTALS, "ref('stg_clicks')", "ref('stg_click')", "ref('stg_clicks')"),
        (TOTALS, "sum(euros)", "smu(euros)", "sum(euros)"),
        (TOTALS, "unique_key=", "unique_keys=", "unique_key="),
        (TOTALS, "materialized='table'", "materialised='table'", "materialized='table'"),
        (STAGING, "upper(c.kind)", "uper(c.kind)", "upper(c.kind)"),
        ("models/shop.yml", "tests: [not_null]", "test: [not_null]", "tests: [not_null]"),
        ("models/shop.yml", "name: amount", "name: amont", "name: amount"),
        (
            "models/shop.yml",
            "{user_id: a, total: 3.0}",
            "{user_id: a, totl: 3.0}",
            "{user_id: a, total: 3.0}",
        ),
        ("pyproject.toml", "unbounded_state", "unbounded_stat", "unbounded_state"),
    ],
)
def test_a_quick_fix_writes_what_was_meant(shop, path, written, wrong, fixed):
    text = shop.open(path)
    shop.type(path, text.replace(written, wrong, 1))
    (fix,) = shop.fixes(path, wrong)
    assert fix.is_preferred
    shop.apply(fix.edit)
    assert shop.texts[path] == text.replace(written, fixed, 1)
    shop.wait_for({})


def test_each_meaning_of_an_ambiguous_column_is_offered(shop):
    path = "models/more.sql"
    shop.open(
        path, "select kind from {{ ref('stg_clicks') }} as a join {{ ref('totals') }} as b using (user_id)"
    )
    assert shop.fixes(path, "kind") == []
    shop.type(
        path,
        "select user_id from {{ ref('stg_clicks') }} as a, {{ ref('totals') }} as b where a.user_id = b.user_id",
    )
    titles = [fix.title for fix in shop.fixes(path, "user_id")]
    assert titles == ["Change to 'a.user_id'", "Change to 'b.user_id'"]


def test_a_column_that_is_not_grouped_becomes_an_aggregate(shop):
    shop.open(TOTALS)
    shop.type(TOTALS, SHOP[TOTALS].replace("sum(euros) as total", "sum(euros) as total, kind"))
    (fix,) = shop.fixes(TOTALS, "sum(euros)")
    shop.apply(fix.edit)
    assert "sum(euros) as total, any_value(kind)" in shop.texts[TOTALS]


def test_a_model_is_renamed_with_all_that_names_it(shop):
    shop.open(TOTALS)
    shop.apply(shop.rename(TOTALS, "stg_clicks", "clean_clicks"))
    save_all(shop)
    assert not (shop.root / STAGING).exists()
    assert (shop.root / "models/clean_clicks.sql").read_text() == SHOP[STAGING]
    assert "ref('clean_clicks')" in (shop.root / "models/everything.sql").read_text()
    assert (shop.root / "models/shop.yml").read_text() == SHOP["models/shop.yml"].replace(
        "stg_clicks", "clean_clicks"
    )
    assert errors_of(shop.root) == []
    (shop.root / "models/clean_clicks.sql").unlink()


def test_a_column_is_renamed_in_its_model_and_in_readers_that_keep_their_own_names(shop):
    shop.open(TOTALS)
    shop.open("models/more.sql", "select e.amount, e.amount + 1 as b from {{ ref('everything') }} as e")
    shop.save("models/more.sql")
    shop.apply(shop.rename(TOTALS, "amount)", "cents_paid"))
    save_all(shop)
    staging = (shop.root / STAGING).read_text()
    assert staging.startswith("select c.user_id, c.amount as cents_paid, upper(c.kind)")
    assert "cents(cents_paid) as euros" in (shop.root / TOTALS).read_text()
    more = (shop.root / "models/more.sql").read_text()
    assert more == "select e.cents_paid as amount, e.cents_paid + 1 as b from {{ ref('everything') }} as e"
    yaml = (shop.root / "models/shop.yml").read_text()
    assert "      - name: cents_paid\n" in yaml
    assert "{user_id: a, cents_paid: 200}" in yaml
    assert errors_of(shop.root) == []


def test_a_key_column_is_renamed_in_options_and_tests(shop):
    shop.open(TOTALS)
    shop.apply(shop.rename(TOTALS, "user_id, sum", "person"))
    save_all(shop)
    assert errors_of(shop.root) == []


def test_columns_and_ctes_of_one_model(shop):
    shop.open(TOTALS)
    shop.apply(shop.rename(TOTALS, "total", "all_euros"))
    shop.apply(shop.rename(TOTALS, "euros)", "paid"))
    shop.apply(shop.rename(TOTALS, "cleaned group", "paid_clicks"))
    save_all(shop)
    assert shop.texts[TOTALS] == (
        SHOP[TOTALS]
        .replace("as total", "as all_euros")
        .replace("euros)", "paid)")
        .replace("as euros", "as paid")
    ).replace("cleaned", "paid_clicks")
    assert "{user_id: a, all_euros: 3.0}" in (shop.root / "models/shop.yml").read_text()
    assert errors_of(shop.root) == []


@pytest.mark.parametrize(
    ("path", "marker", "new_name", "reason"),
    [
        (TOTALS, "total", "user_id", "the project would have an error"),
        (TOTALS, "total", "a b", "can't be a name"),
        (TOTALS, "stg_clicks", "totals", "a model 'totals' exists"),
        (TOTALS, "sum(", "addition", "models, their columns and CTEs can be renamed"),
        (STAGING, "web", "net", "models, their columns and CTEs can be renamed"),
        (STAGING, "kind <>", "kinds", "models, their columns and CTEs can be renamed"),
    ],
)
def test_a_rename_that_would_break_something_is_refused(shop, path, marker, new_name, reason):
    shop.open(path)
    with pytest.raises(JsonRpcException, match=reason):
        shop.rename(path, marker, new_name)


def test_lenses_run_commands(shop):
    shop.open(TOTALS)
    assert shop.lenses(TOTALS) == [
        (1, "Run unit tests", ("test", "--unit", "--select", "totals")),
        (1, "Show rows", ("show", "totals")),
        (1, "Show plan", ("explain", "totals")),
        (1, "Verdict against main", ("review", "--against", "main")),
    ]
    shop.open("models/shop.yml")
    assert shop.lenses("models/shop.yml") == [
        (13, "Run this test", ("test", "--unit", "--select", "unit_test:adds"))
    ]


def write(shop, path, text):
    (shop.root / path).parent.mkdir(parents=True, exist_ok=True)
    (shop.root / path).write_text(text)
    shop.files_changed(path)


def test_a_column_is_renamed_in_the_headers_of_csv(shop):
    write(shop, "tests/fixtures/clicks.csv", '"user_id", amount\na,100\n')
    write(
        shop,
        "models/more.yml",
        "unit_tests:\n"
        "  - name: of_files\n    model: totals\n    given:\n"
        "      - {input: ref('stg_clicks'), fixture: clicks}\n    expect: [{user_id: a, total: 1.0}]\n"
        "  - name: of_text\n    model: totals\n    given:\n"
        "      - input: ref('stg_clicks')\n        rows: |\n          user_id,amount\n          a,100\n"
        "    expect: [{user_id: a, total: 1.0}]\n",
    )
    shop.open(TOTALS)
    shop.apply(shop.rename(TOTALS, "amount)", "paid"))
    save_all(shop)
    assert (shop.root / "tests/fixtures/clicks.csv").read_text() == '"user_id", paid\na,100\n'
    assert "          user_id,paid\n" in (shop.root / "models/more.yml").read_text()
    assert errors_of(shop.root) == []


def test_a_column_of_a_seed_is_renamed(shop):
    write(shop, "seeds/kinds.csv", "kind,title\nweb,Web\n")
    write(shop, "models/more.yml", "seeds:\n  - name: kinds\n    columns: [{name: kind, tests: [unique]}]\n")
    path = "models/titled.sql"
    shop.open(path, "select k.kind, k.title from {{ ref('kinds') }} as k\n")
    shop.save(path)
    shop.apply(shop.rename(path, "kind", "code"))
    save_all(shop)
    assert (shop.root / path).read_text() == "select k.code as kind, k.title from {{ ref('kinds') }} as k\n"
    assert (shop.root / "seeds/kinds.csv").read_text() == "code,title\nweb,Web\n"
    assert "{name: code, tests" in (shop.root / "models/more.yml").read_text()
    assert errors_of(shop.root) == []


def test_a_model_is_renamed_in_selectors(shop):
    selectors = (
        "selectors:\n  - name: stg_clicks\n    definition:\n      union:\n        - +stg_clicks+1\n"
        "        - fqn:shop.stg_clicks\n        - tag:stg_clicks\n        - {method: fqn, value: stg_clicks}\n"
        "        - {method: tag, value: stg_clicks}\n        - exclude: [old_stg_clicks, stg_clicks]\n"
    )
    write(shop, "selectors.yml", selectors)
    shop.open(TOTALS)
    shop.apply(shop.rename(TOTALS, "stg_clicks", "clean"))
    assert (shop.root / "selectors.yml").read_text() == (
        "selectors:\n  - name: stg_clicks\n    definition:\n      union:\n        - +clean+1\n"
        "        - fqn:shop.clean\n        - tag:stg_clicks\n        - {method: fqn, value: clean}\n"
        "        - {method: tag, value: stg_clicks}\n        - exclude: [old_stg_clicks, clean]\n"
    )
    (shop.root / "models/clean.sql").unlink()
