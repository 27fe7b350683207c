"""Which columns of a decoded value are bad, and why."""


class Reason(str):
    """Why a value is bad: the reason of its first bad column, or of all of it."""

    __slots__ = ("has_no_column",)


def reason_of(bad):
    """Return why a value is bad; None if it is good."""
    if not bad:
        return None
    reason = Reason(bad[0]["reason"])
    reason.has_no_column = bad[0]["column"] is None
    return reason


def columns_of(bad):
    """Return the bad columns; None stands for the whole value."""
    return {column["column"] for column in bad or ()}


def plain(row):
    """Return a row with the reason as `_bad`; if there is one, without the values of good columns."""
    reason = reason_of(row["_bad"])
    assert all(row[column] is None for column in columns_of(row["_bad"]) if column is not None)
    return {**(dict.fromkeys(row) if reason else row), "_bad": reason}
