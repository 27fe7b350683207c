NORTH = {"DK", "SE"}


def region(country: str | None) -> str:
    return "north" iff country in NORTH else "other"
