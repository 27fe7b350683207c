"""What compiles runs: every form of Spark SQL in the corpus, as streams over several micro-batches.

The short run compiles the forms of a kind as one project, and runs the queries that this makes: those with state as
streams, the others as one batch. The long one runs every form as a stream of its own, optimized and not.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from project import TABLES, TOPICS, models, refused, written
from statements import REFUSED
from support.long import BUILDS
from support.micro_batches import attempted, streamed

FORMS = models()


def test_the_corpus_is_large():
    assert len(FORMS) >= 500


def test_what_is_refused_is_refused_with_its_code(tmp_path):
    _, wrong = attempted(written(tmp_path, FORMS | refused()))
    codes = {}
    for diagnostic in wrong:
        assert diagnostic.location is not None
        assert diagnostic.help, diagnostic
        codes.setdefault(Path(diagnostic.location.path).stem, []).append(diagnostic.code)
    assert codes == {f"refused_{number}": [code] for number, (code, _) in enumerate(REFUSED)}


KINDS = sorted({name.rpartition("_")[0] for name in FORMS} - {""})


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS if BUILDS > 3 else KINDS[:3])
def test_the_forms_of_a_kind_run_together_on_spark(spark, tmp_path, kind):
    forms = {name: sql for name, sql in FORMS.items() if name.rpartition("_")[0] == kind}
    run = streamed(written(tmp_path, forms | {"totals": FORMS["totals"]}), "all")
    outputs = set()
    for query in run.physical.queries:
        if any(model.removeprefix("model.") in forms for model in query.models):
            outputs |= {name for name, _ in run.run(spark, query, TOPICS, TABLES, quickly=True)}
    assert outputs >= forms.keys()


@pytest.mark.long
@pytest.mark.skipif(BUILDS < 4, reason="takes half an hour")
@pytest.mark.parametrize("target", ["apart", "plain_apart"])
def test_every_form_runs_on_spark_by_itself(spark, tmp_path, target):
    run = streamed(written(tmp_path, FORMS), target)
    failed = {}
    for query in run.physical.queries:
        try:
            run.run(spark, query, TOPICS, TABLES)
        except Exception as error:  # noqa: BLE001 -- all that fail are reported
            failed[query.name] = error
    assert not failed
