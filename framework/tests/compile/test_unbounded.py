"""Warnings of state that grows for ever: one for each operator that keeps it, none for what is bounded."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from support.sql_plans import project

from millstream.cli.group import millstream
from millstream.compile import compile_project

EVENTS, HITS, USERS = (f"{{{{ source('shop', '{name}') }}}}" for name in ("events", "hits", "users"))
COUNTS = f"select user_id, count(*) as n from {EVENTS} group by user_id"
PYPROJECT = '[tool.millstream]\nname = "shop"\n'


def written(root, more="", **models):
    project(root, {name: text + "\n" for name, text in models.items()})
    (root / "pyproject.toml").write_text(PYPROJECT + more)
    return root


def warned(root):
    diagnostics = compile_project(root).diagnostics
    assert all(diagnostic.severity == "warning" for diagnostic in diagnostics), diagnostics
    return [(diagnostic.code, diagnostic.location.path, diagnostic.message) for diagnostic in diagnostics]


def test_a_view_that_five_models_read_is_warned_of_once(tmp_path):
    readers = {f"m{n}": f"select user_id, n + {n} as n from {{{{ ref('counts') }}}}" for n in range(5)}
    root = written(tmp_path, counts=COUNTS, **readers)
    expected = [("MS560", "models/counts.sql", "this aggregate keeps one row per user_id forever")]
    assert warned(root) == expected
    assert warned(root) == expected  # of a compile that the cache knows
    (root / "models/m1.sql").write_text("select user_id, n from {{ ref('counts') }}\n")
    assert warned(root) == expected  # of a model that the cache knows


@pytest.mark.parametrize(
    "sql",
    [
        f"select user_id, count(*) as n from {EVENTS} group by user_id, window(at, '1 hour')",
        f"select count(*) as n from {EVENTS}",
        f"select value > 1 as much, count(*) as n from {EVENTS} group by value > 1",
        f"select distinct user_id, at from {EVENTS}",
        f"{{{{ config(dedupe={{'keys': 'user_id', 'within': '1 hour'}}) }}}} select user_id, at from {EVENTS}",
        f"select e.user_id from {EVENTS} as e join {HITS} as h on e.user_id = h.visitor and e.at = h.seen",
        (
            f"select e.user_id from {EVENTS} as e join {HITS} as h on e.user_id = h.visitor "
            "and h.seen >= e.at and h.seen <= e.at + interval 1 hour"
        ),
        f"select e.user_id, u.segment from {EVENTS} as e left join {USERS} as u on u.user_id = e.user_id",
        "select category, count(*) as n from {{ ref('products') }} group by category",
    ],
)
def test_what_is_bounded_is_not_warned_of(tmp_path, sql):
    windowless = "group by user_id, window" in sql
    root = written(
        tmp_path,
        m=sql.replace("select user_id, count", "select window, user_id, count") if windowless else sql,
    )
    assert warned(root) == []


@pytest.mark.parametrize(
    ("on", "side"),
    [("", "both sides"), ("and e.at >= h.seen", "the right side"), ("and h.seen >= e.at", "the left side")],
)
def test_a_bound_on_one_side_leaves_the_other(tmp_path, on, side):
    root = written(
        tmp_path, m=f"select e.user_id from {EVENTS} as e join {HITS} as h on e.user_id = h.visitor {on}"
    )
    assert warned(root) == [
        (
            "MS562",
            "models/m.sql",
            f"this join keeps each row of {side} forever, since a match could still arrive",
        )
    ]


def test_it_is_accepted_by_model_by_yaml_and_by_folder(tmp_path):
    accepted = "{{ config(unbounded_state='accept') }}\n" + COUNTS
    assert warned(written(tmp_path / "a", m=accepted)) == []
    root = written(tmp_path / "b", m=COUNTS)
    (root / "models/m.yml").write_text("models: [{name: m, config: {unbounded_state: accept}}]\n")
    assert warned(root) == []
    folder = '[tool.millstream.models]\nunbounded_state = "accept"\n'
    assert warned(written(tmp_path / "c", folder, m=COUNTS)) == []
    assert (
        len(warned(written(tmp_path / "d", folder, m="{{ config(unbounded_state='warn') }}\n" + COUNTS))) == 1
    )


def test_a_large_project_shows_the_first_ones_and_counts_the_rest(tmp_path, monkeypatch):
    monkeypatch.chdir(written(tmp_path, **{f"m{n}": COUNTS for n in range(8)}))
    result = CliRunner().invoke(millstream, ["compile"])
    assert result.exit_code == 0
    assert result.output.count("this aggregate keeps") == 5
    assert "warning[MS560]: 3 more warnings of this kind; --output json lists all" in result.output
    assert "8 warnings in 8 models" in result.output
