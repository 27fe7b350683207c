"""An edit that changes which records are bad for a model shows in the verdict on its query, and on no other."""

import json

import pytest
from msgspec.structs import replace

from millstream.compile import compile_project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.values import QuerySignature
from millstream.queries.verdict import compare_signatures

SOURCE = """
sources:
  - name: web
    topics:
      - name: events
        on_bad_record: {policy}
        key: {{name: user, type: string}}
        columns: [{columns}]
      - name: people
        table: true
        on_bad_record: {policy}
        key: {{name: person, type: string}}
        columns: [{people}]
"""
COLUMNS = {"id": "int", "k": "string", "a": "int", "b": "double"}
TABLE = "{{{{ config(materialized='table', unique_key='{key}', unbounded_state='accept') }}}} {sql}"
EVENTS = "{{ source('web', 'events') }}"


def table(sql, key="k"):
    return TABLE.format(key=key, sql=sql)


def sink(sql):
    return "{{ config(materialized='sink') }} " + sql


MODELS = {
    "counts": table(f"select k, count(*) as n from {EVENTS} group by k"),
    "newest": table(f"select id, a from {EVENTS}", "id"),
    "sent": sink(f"select id, k from {EVENTS} where k > 'a'"),
    "of_sent": table("select k, count(*) as n from {{ ref('sent') }} group by k"),
    "both": f"select k, count(*) as n, max(a) as a from {EVENTS} group by k",
    "of_both": table("select k, n from {{ ref('both') }}"),
    "view": f"select id, k, a from {EVENTS}",
    "of_view": table("select k, count(*) as n from {{ ref('view') }} group by k"),
    "of_people": table("select person, name from {{ source('web', 'people') }}", "person"),
    "looked_up": sink(
        f"select e.id, p.name from {EVENTS} e join {{{{ source('web', 'people') }}}} p on e.user = p.person"
    ),
}
PEOPLE = {"name": "string", "age": "int", "town": "string"}


@pytest.fixture
def signatures(tmp_path):
    def of(policy="skip", columns=COLUMNS, people=PEOPLE, optimization="all", **edited):
        column_lists = [
            ", ".join(f"{{name: {n}, type: {t}}}" for n, t in types.items()) for types in (columns, people)
        ]
        texts = {
            "pyproject.toml": '[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\n',
            "profiles.yml": json.dumps(
                {
                    "shop": {
                        "target": "local",
                        "outputs": {
                            "local": {"kafka": "embedded", "optimization": optimization, "grouping": "off"}
                        },
                    }
                }
            ),
            "models/sources.yml": SOURCE.format(
                policy=policy, columns=column_lists[0], people=column_lists[1]
            ),
            **{f"models/{name}.sql": sql for name, sql in (MODELS | edited).items()},
        }
        for name, text in texts.items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        compiled = compile_project(tmp_path, use_cache=False)
        assert [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"] == []
        queries = physical_of(compiled_topology(compiled)).queries
        return {
            output.model.partition(".")[2]: query.signature
            for query in queries
            for output in query.outputs
            if getattr(output, "model", "").startswith("model.")
        }

    return of


def changed(before: dict[str, QuerySignature], after: dict[str, QuerySignature]):
    """Return the verdicts other than `same`."""
    verdicts = {name: compare_signatures(signature, after[name]) for name, signature in before.items()}
    return {
        name: (change.kind, " ".join(change.reasons))
        for name, change in verdicts.items()
        if change.kind != "same"
    }


@pytest.mark.parametrize("optimization", ["all", "none"])
def test_a_neighbour_that_reads_more_changes_nothing(signatures, optimization):
    before = signatures(optimization=optimization)
    after = signatures(
        optimization=optimization,
        more=sink(f"select b, user from {EVENTS}"),
        view=f"select id, k, a, b from {EVENTS}",
    )
    assert changed(before, after) == {}


def test_a_sink_that_reads_more_leaves_out_more_records_for_those_that_read_it(signatures):
    verdicts = changed(signatures(), signatures(sent=sink(f"select id, k, b from {EVENTS} where k > 'a'")))
    assert verdicts.keys() == {"of_sent"}
    kind, why = verdicts["of_sent"]
    assert kind == "mixed"
    assert "wrong values of web.events.b make records bad" in why
    verdicts = changed(signatures(), signatures(sent=sink(f"select k from {EVENTS} where k > 'a'")))
    assert "wrong values of web.events.id no longer make records bad" in verdicts["of_sent"][1]


def test_a_view_with_state_that_reads_more_does_so_too(signatures):
    edited = f"select k, count(*) as n, max(a) as a, sum(b) as b from {EVENTS} group by k"
    verdicts = changed(signatures(), signatures(both=edited))
    assert verdicts.keys() == {"of_both"}
    assert verdicts["of_both"][0] in {"mixed", "rebuild"}


def test_the_type_of_a_column_that_only_decides_counts(signatures):
    edited = {**COLUMNS, "a": "double"}
    verdicts = changed(signatures(), signatures(columns=edited))
    assert "web.events.a is double instead of int" in verdicts["of_both"][1]
    assert verdicts.keys() == {"newest", "of_both"}


def test_all_columns_of_a_topic_of_newest_rows_count(signatures):
    verdicts = changed(signatures(), signatures(people={**PEOPLE, "shoes": "int"}))
    assert verdicts.keys() == {"of_people"}
    assert "wrong values of web.people.shoes make records bad" in verdicts["of_people"][1]
    verdicts = changed(signatures(), signatures(people={**PEOPLE, "town": "int"}))
    assert verdicts.keys() == {"of_people"}
    assert "web.people.town is int instead of string" in verdicts["of_people"][1]


def older(by_model):
    """Return signatures without what older records lack."""

    def without(depends):
        return tuple(dependency for dependency in depends if dependency.kind != "bad")

    return {
        name: replace(
            signature,
            operators=tuple(
                replace(o, depends=without(o.depends), below_depends=without(o.below_depends))
                for o in signature.operators
            ),
            stored=tuple(replace(s, depends=without(s.depends)) for s in signature.stored),
        )
        for name, signature in by_model.items()
    }


def test_records_of_an_older_version_say_that_all_columns_counted(signatures):
    verdicts = changed(older(signatures()), signatures())
    assert verdicts.keys() == MODELS.keys() - {"view", "both", "sent", "looked_up"}
    kind, why = verdicts["counts"]
    assert kind == "mixed"
    assert "bad records of web.events are those with wrong values that this model reads" in why
    assert verdicts["newest"][0] == "stored"
    assert changed(older(signatures("fail")), signatures("fail")) == {}
