"""Documents for other tools, each by an exporter: a function that an installed package registers.

Its package declares an entry point:

    [project.entry-points."millstream.exporters"]
    owners = "acme_exporters:owners"    # def owners(project: ExportedProject) -> str

Exporters know the project as an `ExportedProject`, and nothing else of Millstream except `core` and the
metrics of a run.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.docs.exporters.project import ExportedProject

GROUP = "millstream.exporters"
_TAKEN = frozenset(("text", "json"))
"""The formats that every command has."""


@cache
def installed_exporters() -> dict[str, EntryPoint]:
    """Return the installed exporters by name; where two have one name, Millstream's is used."""
    points = sorted(
        entry_points(group=GROUP), key=lambda point: (not _is_ours(point), point.name, point.value)
    )
    by_name: dict[str, EntryPoint] = {}
    for point in points:
        if point.name not in _TAKEN:
            by_name.setdefault(point.name, point)
    return by_name


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith(f"{__name__}.")


def write_document(name: str, project: ExportedProject) -> str:
    """Return a document; raise an error that names the exporter if one of another package fails."""
    point = installed_exporters()[name]
    try:
        document = point.load()(project)
    except Exception as error:
        if _is_ours(point):
            raise
        raise _error(point, f"failed: {type(error).__name__}: {error}") from error
    if not isinstance(document, str):
        raise _error(point, f"returned {type(document).__name__}, not a text")
    return document


def _error(point: EntryPoint, failure: str) -> MillstreamError:
    message = f"the exporter '{point.name}' ({point.value}) {failure}"
    remedy = "fix or update the package that provides it."
    return MillstreamError(Diagnostic("MS713", message, None, remedy))
