"""Errors whose place or cause is not where they are noticed: the message says both."""

import time

import pytest

SOURCE = "from {{ source('web', 'clicks') }} as c\n"
FAR = "\n" * 18


def only_error(run):
    diagnostics = [
        e for e in run("compile", "--output", "json").json["diagnostics"] if e["severity"] == "error"
    ]
    assert len(diagnostics) == 1
    return diagnostics[0]


@pytest.mark.parametrize(
    ("content", "code", "column", "noticed"),
    [
        (f"{{{{ config(materialized='view) }}}}\nselect c.kind{FAR}\n{SOURCE}", "MS201", 24, (21, 30)),
        (f"{{{{ config(tags=['a, 'b']) }}}}\nselect c.kind{FAR}\n{SOURCE}", "MS201", 23, (21, 30)),
        (f"{{% set x = 'a %}}\nselect c.kind{FAR}\n{SOURCE}where c.kind <> {{{{ x }}}}\n", "MS201", 12, (21, 30)),
        (f"select 'a as x, c.kind{FAR}\nfrom {{{{ ref('stg_clicks') }}}} as c\nwhere c.kind = 'b'", "MS401", 8, (21, 18)),
        (f'select "a as x, c.kind{FAR}\nfrom {{{{ ref("stg_clicks") }}}} as c\nwhere c.kind = "b"', "MS401", 8, (21, 18)),
    ],
)  # fmt: skip
def test_a_quote_missing_in_line_1_is_shown_there(run, shop, content, code, column, noticed):
    (shop / "models/x.sql").write_text(content)
    diagnostic = only_error(run)
    assert (diagnostic["code"], diagnostic["line"], diagnostic["column"]) == (code, 1, column)
    assert [(note["line"], note["column"]) for note in diagnostic["notes"]] == [noticed]


def test_a_text_that_may_span_lines_is_none_of_the_mistake(run, shop):
    (shop / "models/x.sql").write_text(f"select 'a\nb' as x, c.kind\n{SOURCE}where c.kind = 'b\n")
    diagnostic = only_error(run)
    assert (diagnostic["line"], [note["line"] for note in diagnostic["notes"]]) == (1, [4])
    (shop / "models/x.sql").write_text(f"select 'a b' as x, c.kind\n{SOURCE}where c.kind = 'b\n")
    diagnostic = only_error(run)
    assert (diagnostic["line"], diagnostic["notes"]) == (3, [])


@pytest.mark.parametrize(
    ("end", "word"),
    [
        ("join {{ ref('stg_clicks') }} as s on", "ON"),
        ("join {{ ref('stg_clicks') }} as s on where c.kind = 'a'", "ON"),
        ("join {{ ref('stg_clicks') }} as s using", "USING"),
        ("where c.kind in", "IN"),
        ("where", "WHERE"),
    ],
)
def test_a_clause_without_content(run, shop, end, word):
    (shop / "models/x.sql").write_text(f"select c.kind {SOURCE}{end}")
    diagnostic = only_error(run)
    assert (diagnostic["code"], diagnostic["message"], diagnostic["line"]) == (
        "MS401",
        f"nothing follows {word}",
        2,
    )


@pytest.mark.parametrize(
    ("relation", "name"),
    [("models.totals", "totals"), ("models.stg_clicks", "stg_clicks")],
)
def test_a_model_is_read_with_ref(run, shop, relation, name):
    (shop / "models/x.sql").write_text(f"select r.* from {relation} as r")
    diagnostic = only_error(run)
    assert (diagnostic["code"], diagnostic["help"]) == ("MS404", f"write {{{{ ref('{name}') }}}}")


@pytest.mark.parametrize(
    "sql",
    [
        "select r.* from {{ this }} as r",
        f"select c.kind {SOURCE}where c.at > (select max(at) from {{{{ this }}}})",
    ],
)
def test_a_model_that_reads_itself_is_not_sent_to_ref(run, shop, sql):
    (shop / "models/x.sql").write_text(sql)
    diagnostic = next(
        e for e in run("compile", "--output", "json").json["diagnostics"] if e["code"] == "MS404"
    )
    assert diagnostic["message"] == "model 'x' can't read itself"
    assert diagnostic["help"].startswith("read its inputs instead, without a condition on stored rows")
    assert "ref(" not in diagnostic["help"]


def test_an_include_has_a_remedy_of_millstream(run, shop):
    (shop / "models/x.sql").write_text("{% include 'models/totals.sql' %}")
    diagnostic = only_error(run)
    assert diagnostic["code"] == "MS207"
    assert "macros" in diagnostic["help"]


def test_five_hundred_conditions_are_too_deep_and_no_recursion(run, shop):
    (shop / "models/x.sql").write_text("{% if true %}" * 500 + "select 1 as a" + "{% endif %}" * 500)
    diagnostic = only_error(run)
    assert "call each other" not in diagnostic["message"]
    assert diagnostic["path"] == "models/x.sql"


def test_a_letter_that_looks_like_another_is_named(run, shop):
    (shop / "models/x.sql").write_text("select c.kind from {{ s\u043eurce('web', 'clicks') }} as c")
    diagnostic = only_error(run)
    assert diagnostic["code"] == "MS202"
    assert "did you mean 'source'?" in diagnostic["help"]
    assert "CYRILLIC SMALL LETTER O" in diagnostic["help"].upper()


@pytest.mark.parametrize(
    ("sql", "word", "meant"),
    [
        ("s\u0435lect c.kind from {{ source('web', 'clicks') }} as c", "s\u0435lect", "select"),
        ("select c.kind fr\u043em {{ source('web', 'clicks') }} as c", "fr\u043em", "from"),
        ("select c.kind from {{ source('web', 'clicks') }} as c wh\u0435r\u0435 c.kind = 'a'", "wh\u0435r\u0435", "where"),
    ],
)  # fmt: skip
def test_a_keyword_with_a_letter_of_another_script_is_shown(run, shop, sql, word, meant):
    (shop / "models/x.sql").write_text(sql)
    diagnostic = only_error(run)
    assert (diagnostic["code"], diagnostic["message"]) == ("MS401", f"unexpected '{word}'")
    assert f"did you mean '{meant}'? Its " in diagnostic["help"]
    assert diagnostic["column"] == sql.index(word) + 1


@pytest.mark.parametrize("name", ["\u540d\u79f0", "\u0434\u0430", "\u00e0s", "'\u043en'", "`\u043en`"])
def test_a_name_of_another_script_is_not_taken_for_a_keyword(run, shop, name):
    (shop / "models/x.sql").write_text(f"select c.kind as {name}, , c.kind {SOURCE}")
    diagnostic = only_error(run)
    assert (diagnostic["code"], diagnostic["column"]) == ("MS401", len(f"select c.kind as {name}, ") + 1)


def test_a_thousand_errors_of_a_long_line_take_no_time(run, shop):
    """A function that is no longer there, in a generated model."""
    columns = ", ".join(f"nofunction(c.kind) as a{index}" for index in range(1000))
    (shop / "models/x.sql").write_text(f"select {columns} {SOURCE}")
    began = time.thread_time()
    result = run("compile")
    assert result.err.count("error[MS405]: function 'nofunction' does not exist") == 1000
    assert time.thread_time() - began < 8


MONEY = "{% macro money(cents) %}cast(({{ cents }}) / 100.0 as decimal(12, 2)){% endmacro %}"


@pytest.mark.parametrize(
    ("columns", "line", "column", "message", "notes"),
    [
        ("c.kind,\n  rand() {{ money('1') }} as a", 2, 13, "unexpected 'cast'", ["macros/money.sql"]),
        ("c.kind{{ money('1') }} as a", 1, 17, "expected ')' before '('", ["macros/money.sql"]),
        ("c.kind as a_{{ money('1') }}", 1, 23, "unexpected '('", ["macros/money.sql"]),
        ("c.kind as a b.c", 1, 20, "unexpected 'b'", []),
        ("c.kind,\n  upper('a' {{ money('1') }}) as a", 2, 16, "expected ')' before 'cast'", ["macros/money.sql"]),
        ("c.kind,\n  (c.kind) + (1 {{ money('1') }}) as a", 2, 20, "expected ')' before '('", ["macros/money.sql"]),
        ("c.kind upper(c.kind) as a", 1, 15, "unexpected 'upper'", []),
        ("c.kind as (c.kind)", 1, 20, "expected ')' before '.'", []),
        ("{{ money('1 1') }} as a", 1, 18, None, ["macros/money.sql"]),
    ],
)  # fmt: skip
def test_what_does_not_follow_a_value_is_shown_where_a_comma_is_missing(
    run, shop, columns, line, column, message, notes
):
    """Even if a macro wrote it: the macro is right, but not here."""
    (shop / "macros").mkdir(exist_ok=True)
    (shop / "macros/money.sql").write_text(MONEY)
    (shop / "models/x.sql").write_text(f"select {columns}\n{SOURCE}")
    diagnostic = only_error(run)
    assert (diagnostic["code"], diagnostic["path"]) == ("MS401", "models/x.sql")
    assert (diagnostic["line"], diagnostic["column"]) == (line, column)
    assert message in {diagnostic["message"], None}
    assert [note["path"] for note in diagnostic["notes"]] == notes
