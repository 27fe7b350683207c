"""How much memory this machine, or this container, has."""

from __future__ import annotations

import os
from pathlib import Path

_LIMIT = Path("/sys/fs/cgroup/memory.max")


def memory_of_machine(limit: Path = _LIMIT) -> int | None:
    """Return the bytes of memory that this process can use; None if the system does not say."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None  # not on every system
    try:
        text = limit.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return physical
    return min(physical, int(text)) if text.isdigit() else physical
