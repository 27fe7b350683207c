"""Functions that SQL calls by name. Type hints give the types; `| None` allows NULL."""

FRIEND, REGULAR = 50, 5


def loyalty_level(orders: int) -> str:
    """Return the level of a customer by the number of orders."""
    if orders >= FRIEND:
        return "friend"
    return "regular" if orders >= REGULAR else "new"
