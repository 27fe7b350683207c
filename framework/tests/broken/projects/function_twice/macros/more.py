def region(country: str) -> str:
    return country
