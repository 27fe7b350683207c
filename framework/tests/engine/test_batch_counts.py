"""What batches that are stored output by output have counted, by their numbers."""

from millstream.engine.queries.counts import metrics_together
from millstream.engine.queries.row_tests import CHANGES, CountsByBatch
from millstream.results.run_results import TableChanges


def some(rows, *sums):
    numbers = {
        "tests test.t": rows,
        "metrics m": {"a": list(sums)},
        "logs model.x": {"rows": rows, "texts": ["t"]},
    }
    return numbers | {f"{CHANGES} model.x": TableChanges(touched=rows, computed=2, inserted=1)}


def test_what_was_stored_before_the_first_batch_belongs_to_it():
    counts = CountsByBatch()
    counts.add(-1, some(1, 1.0, 5.0, 5.0, 5.0, 0.0, 1.0))
    counts.add(0, some(2, 2.0, 3.0, 1.0, 2.0, 2.0, 2.0))
    counts.add(1, some(9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    assert counts.changes() == TableChanges(touched=12, computed=6, inserted=3)
    taken = counts.take(0)
    assert taken.counts.tests == {"test.t": 3}
    assert taken.metrics == {"m": {"a": [3.0, 8.0, 1.0, 5.0, 2.0, 3.0]}}
    assert taken.logs == {"model.x": (3, ["t", "t"])}
    assert taken.changes == {"x": TableChanges(touched=3, computed=4, inserted=2)}
    assert counts.take(0).changes == {}
    assert counts.take(1).counts.tests == {"test.t": 9}


def test_metrics_of_other_names_and_labels_stay_as_they_are():
    one, other = {"m": {"a": [1.0, 1.0, 1.0, 1.0]}}, {"m": {"b": [2.0, 2.0, 2.0, 2.0]}, "n": {}}
    assert metrics_together(one, other) == {"m": {**one["m"], **other["m"]}, "n": {}}
    assert one == {"m": {"a": [1.0, 1.0, 1.0, 1.0]}}
