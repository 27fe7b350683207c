NORTH = {"DK", "SE"}


def region(country: str | None):
    return "north" if country in NORTH else "other"
