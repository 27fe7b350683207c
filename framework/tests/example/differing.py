"""What the example has made, and what it should have."""

from example.oracle import as_rows, expected, same
from example.reading import latest
from support.runs import headers, pairs, received, table_rows

REFERENCES = {"products": "product_id", "user_profiles": "user_id"}


def stale(root, records, target=None):
    """Return the keys of reference tables that hold another record than the newest, with the times of both."""
    found = []
    for name, key in REFERENCES.items():
        newest = latest(records[name])
        rows = {row[key]: row["timestamp"] for row in table_rows(root, f"source.shop.{name}", target)}
        found += [
            (name, each, rows.get(each), row["timestamp"])
            for each, row in newest.items()
            if rows.get(each) != row["timestamp"]
        ]
    return found


def differences(root, bootstrap, records, target=None, *, again=False):
    """Tell what differs from what is expected; `again`: records may come again, as their headers tell."""
    assert not (old := stale(root, records, target)), old
    wanted = expected(records)
    found = {
        name: as_rows(
            name,
            [(row["user_id"], row) for row in table_rows(root, f"model.{name}", target)]
            if name == "active_users"
            else (once_each if again else pairs)(bootstrap, name),
        )
        for name in wanted
    }
    return same(wanted, found)


def once_each(bootstrap, topic):
    """Return the records of a topic, without those that repeat an earlier one.

    Rows of a lookup don't say which record they are of, but no two of the example's are equal.
    """
    found = {}
    for each in received(bootstrap, topic):
        place = headers(each).get("millstream.position", (each.key(), each.value()))
        found.setdefault(place, (each.key(), each.value()))
    return list(found.values())


def piece(records, number, size):
    """Return the events of one build; reference topics come whole before the first, since lookups see the newest."""
    return {
        name: (rows if number == 0 else [])
        if name in REFERENCES
        else rows[number * size : (number + 1) * size]
        for name, rows in records.items()
    }
