"""Checks the unit tests of a project without running them."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from millstream.compile.manifest import Compiled
from millstream.core.errors import Diagnostic
from millstream.project.values import Project
from millstream.queries.topology import read_catalog
from millstream.testing.units.files import YamlFiles
from millstream.testing.units.read import read_overrides, read_unit_test
from millstream.testing.units.relations import UnitRelations


def unit_test_problems(project: Project, compiled: Compiled) -> list[Diagnostic]:
    """Return what is wrong with tests as written, such as columns that a relation does not have.

    Tests that override variables are left out: with these, models may have other columns.
    """
    relations, files = UnitRelations(read_catalog(compiled)), YamlFiles(Path(project.root))
    zone = ZoneInfo(str(project.target.settings.get("timezone", "UTC")))
    diagnostics: list[Diagnostic] = []
    for unit in project.unit_tests:
        overrides = read_overrides(unit.body)
        if not (overrides.vars or overrides.env):
            diagnostics += read_unit_test(unit, relations, files, zone)[1]
    return diagnostics
