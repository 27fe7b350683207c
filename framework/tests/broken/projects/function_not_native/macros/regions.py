"""Regions of countries."""


def region(country: str) -> str:
    try:
        return country.upper()
    except AttributeError:
        return "nowhere"
