NORTH = {"DK", "SE"}


def region(country) -> str:
    return "north" if country in NORTH else "other"
