"""Durations as options write them: `1 hour 30 minutes`."""

_UNIT = r"\d+(\.\d+)? (microsecond|millisecond|second|minute|hour|day|week|month|year)s?"
PATTERN = f"{_UNIT}( {_UNIT})*"
