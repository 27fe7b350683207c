"""Which columns of a decoded value are bad, and why."""


class Reason(str):
    """Why a value is bad: the reason of its first bad column, or of all of it."""

    __slots__ = ("whole",)


def reason_of(bad):
    """Return why a value is bad; None if it is good."""
    if not bad:
        return None
    found = Reason(bad[0]["reason"])
    found.whole = bad[0]["column"] is None
    return found


def columns_of(bad):
    """Return the bad columns; None stands for the whole value."""
    return {each["column"] for each in bad or ()}


def plain(row):
    """Return a row with the reason as `_bad`; if there is one, without the values of good columns."""
    reason = reason_of(row["_bad"])
    assert all(row[each] is None for each in columns_of(row["_bad"]) if each is not None)
    return {**(dict.fromkeys(row) if reason else row), "_bad": reason}
