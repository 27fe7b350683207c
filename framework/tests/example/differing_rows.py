"""What the example has made, and what it should have."""

from example.oracle import as_rows, expected, same
from example.reading import latest
from support.runs import headers, pairs, received, table_rows

REFERENCES = {"products": "product_id", "user_profiles": "user_id"}


def stale(root, records, target=None):
    """Return the keys of reference tables that hold another record than the newest, with the times of both."""
    stale_rows = []
    for name, key in REFERENCES.items():
        newest = latest(records[name])
        rows = {row[key]: row["timestamp"] for row in table_rows(root, f"source.shop.{name}", target)}
        stale_rows += [
            (name, key_value, rows.get(key_value), row["timestamp"])
            for key_value, row in newest.items()
            if rows.get(key_value) != row["timestamp"]
        ]
    return stale_rows


def differences(root, bootstrap, records, target=None, *, again=False):
    """Tell what differs from what is expected; `again`: records may come again, as their headers tell."""
    assert not (old := stale(root, records, target)), old
    expected_rows = expected(records)
    stored_rows = {
        name: as_rows(
            name,
            [(row["user_id"], row) for row in table_rows(root, f"model.{name}", target)]
            if name == "active_users"
            else (once_each if again else pairs)(bootstrap, name),
        )
        for name in expected_rows
    }
    return same(expected_rows, stored_rows)


def once_each(bootstrap, topic):
    """Return the records of a topic, without those that repeat an earlier one.

    Rows of a lookup don't say which record they are of, but no two of the example's are equal.
    """
    records = {}
    for record in received(bootstrap, topic):
        position = headers(record).get("millstream.position", (record.key(), record.value()))
        records.setdefault(position, (record.key(), record.value()))
    return list(records.values())


def piece(records, number, size):
    """Return the events of one build; reference topics come whole before the first, since lookups see the newest."""
    return {
        name: (rows if number == 0 else [])
        if name in REFERENCES
        else rows[number * size : (number + 1) * size]
        for name, rows in records.items()
    }
