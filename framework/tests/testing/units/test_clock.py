from datetime import datetime, timezone

from millstream.testing.units.clock import _Clock

CLOCK = _Clock(datetime(2026, 3, 4, 12, tzinfo=timezone.utc))


def test_the_clock_is_asked_in_every_way():
    assert CLOCK.sql("select now(), current_date, CURRENT_TIMESTAMP()") == (
        "select timestamp '2026-03-04 12:00:00+00:00', cast(timestamp '2026-03-04 12:00:00+00:00' as date), "
        "timestamp '2026-03-04 12:00:00+00:00'"
    )


def test_what_only_looks_like_it_stays():
    text = "select 'now()', `current_date`, t.current_date, \"now()\", known()"
    assert CLOCK.sql(text) == text
