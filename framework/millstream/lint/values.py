"""What a rule finds."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.core.text import Location

Level = Literal["off", "warning", "error"]


class Finding(Struct, frozen=True):
    """What a rule has to say of a model: at a span of its compiled SQL, or at a location in another file."""

    model: NodeId
    message: str
    help: str = ""
    start: int = 0
    stop: int = 0
    location: Location | None = None
