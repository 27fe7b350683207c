"""The registry of kinds of sources. Everything that depends on a kind's name starts here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.known_failures import KnownFailure
from millstream.sources.declaration import Declaration

KINDS = ("topic", "rate", "files", "delta", "iceberg")

GROUP = "millstream.sources"
"""The entry points by which installed packages add kinds: the kind's name, and the package of its modules."""


@cache
def installed_kinds() -> dict[str, str]:
    """Return the packages of kinds that others have added; this reads what is installed, which takes time."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=GROUP) if point.name not in KINDS}


def source_module(kind: str, module: str) -> Any:
    package = f"{__package__}.{kind}" if kind in KINDS else installed_kinds().get(kind)
    if package is None:
        message = f"no installed package has the kind of source '{kind}'"
        remedy = f"install the package that names it in the entry points '{GROUP}'"
        raise MillstreamError(Diagnostic("MS131", message, None, remedy))
    return import_module(f"{package}.{module}")


@cache
def source_declaration(kind: str) -> Declaration:
    declared: Declaration = source_module(kind, "declaration").DECLARATION
    return declared


def modules_of_kinds(module: str) -> Iterator[Any]:
    """Yield a module that kinds may have, of each that has it."""
    for package in (*(f"{__package__}.{kind}" for kind in KINDS), *installed_kinds().values()):
        if find_spec(f"{package}.{module}") is not None:
            yield import_module(f"{package}.{module}")


def source_failures() -> Iterator[KnownFailure]:
    """Yield why queries that read sources fail, by kind."""
    for module in modules_of_kinds("failures"):
        yield from module.FAILURES
