"""Random formatting, comments and names are not changes; a random literal that differs is one."""

import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.reviews import compared, version, written

MODELS = {
    "clicks": "select e.user_id, e.amount, e.at from {{ source('shop', 'events') }} as e where e.amount > 7",
    "totals": (
        "{{ config(materialized='table', unique_key='user_id') }}\n"
        "with c as (select user_id, amount * 2 as double_amount from {{ ref('clicks') }} as e)\n"
        "select c.user_id, sum(c.double_amount) as total, count(*) as n from c group by c.user_id"
    ),
}
BLANKS = (" ", "  ", "\n", "\t", " -- a comment\n", " /* one */ ")
WORD = re.compile(r"\b(select|from|where|group|by|as|sum|count|with)\b")
SETTINGS = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    return version(written(tmp_path_factory.mktemp("old"), MODELS), "main")


def reformatted(text, random):
    """Change spaces, comments, the case of words and the names of relations; Jinja stays as it is."""
    alias = "".join(random.choices("abcdefgh_", k=5)) + "_x"

    def changed(part):
        part = re.sub(r"\be\b(?=[\s.])|\be$", alias, part)
        part = WORD.sub(lambda m: random.choice((m.group(), m.group().upper())), part)
        # Not within GROUP BY: sqlglot takes no comment between these two.
        return re.sub(r"(?<!group) (?!by)", lambda _: random.choice(BLANKS), part, flags=re.IGNORECASE)

    parts = re.split(r"(\{\{.*?\}\})", text)
    return "".join(part if part.startswith("{{") else changed(part) for part in parts)


@SETTINGS
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_another_form_is_no_change(old, tmp_path, seed):
    random = Random(seed)
    models = {name: reformatted(text, random) for name, text in MODELS.items()}
    report = compared(old, tmp_path, models)
    assert (report.nodes, report.queries, report.contracts, report.levels) == ((), (), (), ()), models


@SETTINGS
@given(number=st.integers(min_value=0, max_value=99), fragment=st.sampled_from(["> 7", "* 2"]))
def test_another_number_is_a_change_exactly_where_it_is_another(old, tmp_path, number, fragment):
    now = f"{fragment[0]} {number}"
    models = {name: text.replace(fragment, now) for name, text in MODELS.items()}
    report = compared(old, tmp_path, models)
    changed = {node.id for node in report.nodes}
    (query,) = report.queries or (None,)
    if now == fragment:
        assert (changed, query) == (set(), None)
    elif fragment[0] == ">":
        assert (changed, query.status) == ({"model.clicks", "model.totals"}, "mixed")
    else:
        assert (changed, query.status) == ({"model.totals"}, "rebuild")
