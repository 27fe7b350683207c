from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.results.test_results import (
    ModelCoverage,
    TestResult,
    TestResults,
    read_test_results,
    with_earlier_results,
    write_test_results,
)

COVERED = (ModelCoverage(NodeId("model", "a"), "models/a.sql", 1, 2, 2),)


def results(ran, *ids, coverage=(), status="pass"):
    tests = tuple(TestResult(id_, "test", status, 0.1, "a.yml", 1, ran=ran) for id_ in ids)
    return TestResults("test", "shop", "local", ran, 1.0, tests, coverage, "0.1.0")


def earlier(test_results):
    return [(result.id, result.ran) for result in test_results.earlier]


def test_results_are_read_as_they_were_written(tmp_path):
    test_results = results("2026-01-01", "test.a", coverage=COVERED)
    write_test_results(tmp_path / "target", test_results)
    assert read_test_results(tmp_path / "target", "shop", "local") == test_results
    assert read_test_results(tmp_path / "target", "shop", "production") is None
    assert read_test_results(tmp_path, "shop", "local") is None


def test_a_run_of_some_tests_keeps_what_was_said_of_others():
    first = results("2026-01-01", "test.a", "test.b", "test.c")
    second = with_earlier_results(results("2026-01-02", "test.b"), first, {"test.a", "test.b", "test.c"})
    assert [result.id for result in second.results] == ["test.b"]
    assert earlier(second) == [("test.a", "2026-01-01"), ("test.c", "2026-01-01")]
    third = with_earlier_results(results("2026-01-03", "test.a"), second, {"test.a", "test.b", "test.c"})
    assert earlier(third) == [("test.c", "2026-01-01"), ("test.b", "2026-01-02")]


def test_tests_that_are_gone_are_forgotten():
    first = results("2026-01-01", "test.a", "test.b")
    assert earlier(with_earlier_results(results("2026-01-02"), first, {"test.b"})) == [
        ("test.b", "2026-01-01")
    ]


def test_coverage_stays_until_it_is_measured_again():
    first = results("2026-01-01", coverage=COVERED)
    assert with_earlier_results(results("2026-01-02"), first, set()).coverage == COVERED
    renewed = (replace(COVERED[0], reached=1),)
    assert with_earlier_results(results("2026-01-02", coverage=renewed), first, set()).coverage == renewed
