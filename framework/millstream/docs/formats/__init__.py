"""Formats for other tools: one file or folder for each format, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.docs.site_input import Material

FORMATS = ("asyncapi", "openlineage", "mermaid", "badge", "grafana", "alerts")
"""Each is a module of this package with one function of its name: `asyncapi(material) -> str`."""


def written_as(name: str, material: Material) -> str:
    write: Callable[[Material], str] = getattr(import_module(f"{__name__}.{name}"), name)
    return write(material)
