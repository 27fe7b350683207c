"""What batches of a run take, as `explain` shows it."""

import pytest

from millstream.results.batch_stats import BatchFigures, BatchTimes, in_words, measured_batches


def test_medians_of_the_newest_batches_with_rows():
    times = BatchTimes()
    assert times.figures() is None
    times.add(0, 9.0)
    assert times.figures() is None
    for number in range(300):
        times.add(number + 1, number / 100)
    figures = times.figures()
    assert (figures.batches, figures.rows, figures.seconds) == (100, 250.5, pytest.approx(2.495))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (
            BatchFigures(100, 61.5, 0.314, "2026-11-27T10:00:00+00:00"),
            "0.31 s for 62 rows: medians of 100 batches, the newest on 2026-11-27",
        ),
        (BatchFigures(1, 1, 2.0, "2026-11-27T10:00:00+00:00"), "2.00 s for 1 row: one batch on 2026-11-27"),
    ],
)
def test_figures_in_words(figures, words):
    assert in_words(figures) == words


def test_a_damaged_file_is_not_used(tmp_path):
    for name, text in {
        "good": '{"batches":2,"rows":3,"seconds":0.5,"time":"2026-11-27"}',
        "bad": "{",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "batches.json").write_text(text)
    assert measured_batches(str(tmp_path)) == {"good": BatchFigures(2, 3, 0.5, "2026-11-27")}
    assert measured_batches("s3a://bucket/x") == {}
