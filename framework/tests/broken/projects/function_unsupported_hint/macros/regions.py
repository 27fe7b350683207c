NORTH = {"DK", "SE"}


def region(country: complex) -> str:
    return "north" if country in NORTH else "other"
