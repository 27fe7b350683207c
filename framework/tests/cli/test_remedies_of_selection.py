"""Warnings about what a selection leaves out or adds: the selection or option that the remedy names ends them."""

import re

import pytest
from support.shops import PROFILES, PROJECT, SOURCES

from millstream.cli.jobs import compiled_job
from millstream.cli.options import CommonOptions, SelectionRequest, StateOptions
from millstream.cli.output import OutputStyle

EVENTS = "{{ source('web', 'events') }}"
TOTALS = f"select user, sum(value) as total from {EVENTS} group by user"


def sink(**options):
    options = "".join(f", {name}='{value}'" for name, value in options.items())
    return f"{{{{ config(materialized='sink'{options}) }}}} select id from {EVENTS}"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project with two sinks that share a query, a table with one of its own, and a view under a sink."""
    monkeypatch.chdir(tmp_path)
    letters = SOURCES.replace("topics:", "on_bad_record: dead_letter\n    topics:", 1)
    for path, text in {
        "pyproject.toml": PROJECT,
        "profiles.yml": PROFILES,
        "models/sources.yml": letters,
        "models/plain.sql": sink(),
        "models/kinds.sql": sink(),
        "models/totals.sql": "{{ config(materialized='table', unique_key='user', unbounded_state='accept') }} "
        + TOTALS,
        "models/seen.sql": f"select id from {EVENTS}",
        "models/of_seen.sql": "{{ config(materialized='sink', group='seen') }} select id from {{ ref('seen') }}",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def remedies(root, *select):
    """Return the remedies of a selection, by the code of the warning."""
    common = CommonOptions(root, None, None, None, "", OutputStyle())
    _, _, diagnostics = compiled_job(common, root, SelectionRequest(select), StateOptions())
    return {diagnostic.code: diagnostic.help for diagnostic in diagnostics}


def test_a_model_that_is_built_too_gets_a_query_of_its_own(shop):
    remedy = remedies(shop, "plain")["MS611"]
    group = re.search(r"config\((group='\w+')\)", remedy)[1]
    (shop / "models/plain.sql").write_text(sink(group="plain"))
    assert (group, "MS611" in remedies(shop, "plain")) == ("group='plain'", False)


def test_what_reads_a_view_is_selected_with_it(shop):
    assert remedies(shop, "seen")["MS613"] == "select what reads it, too: --select seen+"
    assert "MS613" not in remedies(shop, "seen+")


def test_dead_letters_are_sent_if_a_model_of_their_query_is_selected(shop):
    remedy = remedies(shop, "totals")["MS614"]
    model = re.search("to send them now, also select one of its models: --select (.*)", remedy)[1]
    assert "MS614" not in remedies(shop, "totals", model)
    assert "MS614" not in remedies(shop)
    # Another query sends them if the models of that one are gone.
    for name in ("plain", "kinds"):
        (shop / f"models/{name}.sql").unlink()
    assert model == "kinds"
    assert "seen" in remedies(shop, "totals")["MS614"]
