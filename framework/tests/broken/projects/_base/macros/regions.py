NORTH = {"DK", "SE"}


def region(country: str | None) -> str:
    return "north" if country in NORTH else "other"
