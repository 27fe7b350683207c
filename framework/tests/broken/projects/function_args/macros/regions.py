NORTH = {"DK", "SE"}


def region(*country: str) -> str:
    return "north" if country in NORTH else "other"
