"""Times in the options of commands."""

from __future__ import annotations

from datetime import datetime, tzinfo

import click


def parse_time(text: str, zone: tzinfo) -> datetime:
    """Parse a time; without a zone, it is in that of the target."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise click.UsageError(
            f"'{text}' is not a time, such as 2026-03-01 or 2026-03-01T10:00:00Z"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=zone)
