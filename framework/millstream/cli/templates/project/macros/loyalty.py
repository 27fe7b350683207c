"""Functions that SQL calls by their names; the hints tell the types, and `| None` that NULL is welcome."""

FRIEND, REGULAR = 50, 5


def loyalty_level(orders: int) -> str:
    """Name the level of a customer with so many orders."""
    if orders >= FRIEND:
        return "friend"
    return "regular" if orders >= REGULAR else "new"
