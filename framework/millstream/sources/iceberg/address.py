"""Finds the table of a source: in a folder, or in a catalog of the target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.project.folders import absolute_path, local_path
from millstream.project.secrets import revealed_text
from millstream.project.values import Project, RowSource
from millstream.sources.iceberg.snapshots import TableAddress, TableProblemError, load_table

if TYPE_CHECKING:
    from pyiceberg.table import Table


def opened_table(source: RowSource, project: Project) -> Table:
    with located_problems(source):
        return load_table(address_of(source, project))


def address_of(source: RowSource, project: Project) -> TableAddress:
    _check_installed(source)
    if path := source.settings.get("path"):
        folder = local_path(absolute_path(path, Path(project.root)))
        assert folder is not None, "only folders of this machine are accepted"
        return TableAddress(source.id, str(folder))
    catalogs = project.target.settings.get("catalogs") or {}
    name = source.settings["catalog"]
    if name not in catalogs:
        message = f"target '{project.target.name}' has no catalog '{name}'"
        remedy = did_you_mean(name, list(catalogs), "add it to `catalogs` of the target in profiles.yml")
        raise MillstreamError(Diagnostic("MS645", message, source.location, remedy))
    properties = {key: revealed_text(value) for key, value in catalogs[name].items()}
    return TableAddress(source.id, "", name, properties, source.settings["table"])


@contextmanager
def located_problems(source: RowSource) -> Iterator[None]:
    """Report a problem of a table where YAML declares the source."""
    try:
        yield
    except TableProblemError as error:
        diagnostic = Diagnostic("MS645", error.message, source.location, error.remedy)
        raise MillstreamError(diagnostic) from None


def _check_installed(source: RowSource) -> None:
    try:
        import pyiceberg  # noqa: F401
    except ImportError:
        message = f"reading the Iceberg table of source '{source.id}' needs the package pyiceberg"
        remedy = "install it: pip install 'millstream[iceberg]'"
        raise MillstreamError(Diagnostic("MS623", message, source.location, remedy)) from None
