"""What users accept: after a `stored` edit state is right, after a `mixed` one both versions have counted."""

import json

import pytest
from edits.corpus import EDITS
from edits.test_edited_states import FIRST, STEP, by_model, half, name_of, rows, succeeded, write
from support.runs import built, create_topics, job_of, send
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Update
from millstream.queries.verdict import AcceptedModels, compare_signatures

pytestmark = SPARK_WARNINGS

CHOSEN = [edit for edit in EDITS if edit.verdict in {"stored", "mixed"}][FIRST :: max(1, STEP // 3)]


@pytest.mark.long
def test_rows_after_an_edit_that_was_accepted(tmp_path, broker, first_spark):
    shop = Shop(tmp_path, broker)
    write(shop, CHOSEN, "before")
    old = by_model(job_of(shop.root).physical)
    create_topics(shop.bootstrap, "events", "others")
    send(shop.bootstrap, half(0))
    succeeded(built(shop.root, first_spark)[0])
    before = {name_of(edit): rows(shop, edit) for edit in CHOSEN}

    write(shop, CHOSEN, "after")
    new = by_model(job_of(shop.root).physical)
    verdicts = {
        name_of(edit): compare_signatures(old[model].signature, new[model].signature)
        for edit in CHOSEN
        for model in [f"model.{name_of(edit)}"]
    }
    send(shop.bootstrap, half(1))
    succeeded(built(shop.root, first_spark, intent=Update(accepted=accepting(verdicts.values())))[0])
    succeeded(built(shop.root, first_spark, target="fresh")[0])

    neither = {}
    for edit in CHOSEN:
        fresh, columns = set(rows(shop, edit, "fresh")), {}
        for row in fresh:
            columns |= dict.fromkeys(json.loads(row))
        old_rows = {with_nulls(row, columns) for row in before[name_of(edit)]}
        neither[edit.name] = [row for row in rows(shop, edit) if only(row, columns) not in fresh | old_rows]
    wrong = {
        e.name: neither[e.name] for e in CHOSEN if verdicts[name_of(e)].kind == "stored" and neither[e.name]
    }
    assert wrong == {}
    mixed = [e.name for e in CHOSEN if verdicts[name_of(e)].kind == "mixed"]
    shown = [name for name in mixed if neither[name]]
    assert STEP > 1 or 3 * len(shown) > len(mixed), (len(mixed), shown)


def accepting(verdicts):
    """Accept of each model what its verdict says, and no more."""
    return AcceptedModels(
        stored=frozenset(model for verdict in verdicts for model in verdict.stored),
        mixed=frozenset(model for verdict in verdicts for model in verdict.mixed),
    )


def only(row, columns):
    """Return a row with some columns: those that the new version does not have stay in the table."""
    return json.dumps({k: v for k, v in json.loads(row).items() if k in columns}, sort_keys=True)


def with_nulls(row, columns):
    """Return an older row as the table shows it: columns that were added are NULL."""
    values = json.loads(row)
    return json.dumps({k: values.get(k) for k in columns}, sort_keys=True)
