"""What the versions of rows are according to plain Python, and random records."""

from datetime import datetime, timedelta, timezone
from itertools import pairwise

from hypothesis import strategies as st

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def timestamp(minute):
    return None if minute is None else START + timedelta(minutes=minute)


def records(keys="abc", minutes=30, most=40):
    """Return records in the order of their topic: key, minute, value; None deletes the key."""
    record = st.tuples(st.sampled_from(keys), st.integers(0, minutes), st.none() | st.integers(0, 9))
    return st.lists(record, min_size=1, max_size=most)


def cut(items, positions):
    """Return a list in parts that begin at these places."""
    bounds = sorted({0, *(position % len(items) for position in positions), len(items)})
    return [items[start:stop] for start, stop in pairwise(bounds)]


def history(changes, keep=None):
    """Return the versions of records: key, value, minute from which and until which each is valid.

    Without a version before it, a deletion is an empty version. With `keep`, versions are gone that ended so
    long before the newest record.
    """
    versions = []
    oldest = max(minute for _, minute, _ in changes) - keep if changes and keep is not None else None
    for key in {key for key, _, _ in changes}:
        bounds = sorted({minute: value for record_key, minute, value in changes if record_key == key}.items())
        ends = [minute for minute, _ in bounds[1:]] + [None]
        retained = [
            (minute, value, end)
            for (minute, value), end in zip(bounds, ends, strict=True)
            if oldest is None or end is None or end > oldest
        ]
        before = None
        for minute, value, end in retained:
            if value is not None:
                versions.append((key, value, minute, end))
            elif before is None:
                versions.append((key, None, minute, minute))
            before = value
    return sorted(versions, key=repr)


def valid(changes, key, minute):
    """Return a key's value at a time, which is that of its newest record until then."""
    values = {
        record_minute: value for k, record_minute, value in changes if k == key and record_minute <= minute
    }
    return values[max(values)] if values else None


def states(keys="ab", most=8):
    """Return batches of the rows of a table that changed: each key once, with a time of its own or without."""
    row = st.tuples(st.none() | st.integers(0, 120), st.none() | st.integers(0, 2))
    batch = st.dictionaries(st.sampled_from(keys), row, min_size=1)
    return st.lists(
        batch.map(lambda rows: [(key, *row) for key, row in rows.items()]), min_size=1, max_size=most
    )


def replaced(batches, keep=None):
    """Return the versions of rows that replace each other; the first batch comes at minute 100."""
    bounds = {}
    for now, batch in enumerate(batches, 100):
        for key, time, value in batch:
            bounds_of_key = bounds.setdefault(key, [])
            before = bounds_of_key[-1][1] if bounds_of_key else None
            if value == before:
                continue  # an equal row, or a deletion of what is not there
            begins = now if time is None or value is None else time
            if bounds_of_key and bounds_of_key[-1][0] >= begins:
                begins, _ = bounds_of_key.pop()
            bounds_of_key.append((begins, value))
    return history(
        [(key, minute, value) for key, bounds_of_key in bounds.items() for minute, value in bounds_of_key],
        keep,
    )
