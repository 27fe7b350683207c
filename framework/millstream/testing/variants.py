"""Compiles the project with the variables and the environment that a test overrides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from millstream.compile import compile_project
from millstream.compile.cache_files import cached_files
from millstream.compile.manifest import Compiled
from millstream.core.errors import MillstreamError
from millstream.project.load import load_project
from millstream.project.settings import read_settings
from millstream.project.values import Project
from millstream.project.variables import merge_variables
from millstream.queries.topology import read_catalog
from millstream.testing.units.relations import UnitRelations
from millstream.testing.units.values import Overrides


class ProjectOptions(Struct, frozen=True):
    """The command-line options that affect the whole project."""

    target: str | None = None
    vars: str | None = None
    profiles_dir: str | None = None
    environment: str | None = None


class Variant(Struct, frozen=True):
    project: Project
    compiled: Compiled
    relations: UnitRelations


def compile_variant(root: Path, options: ProjectOptions, overrides: Overrides) -> Variant:
    profiles = Path(options.profiles_dir) if options.profiles_dir else None
    variables = _merge(options.vars, overrides.vars)
    with _environment(overrides.env):
        compiled = compile_project(
            root, target=options.target, variables=variables, profiles_dir=profiles,
            store=not (overrides.vars or overrides.env),
        )  # fmt: skip
        if errors := [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"]:
            raise MillstreamError(*errors)
        memo = cached_files(root / read_settings(root)[0].target_path)
        project = load_project(root, options.target, variables, profiles, options.environment, memo)
    return variant_of(project, compiled)


def variant_of(project: Project, compiled: Compiled) -> Variant:
    return Variant(project, compiled, UnitRelations(read_catalog(compiled)))


def _merge(variables_yaml: str | None, overrides: Mapping[str, Any]) -> Any:
    if not overrides:
        return variables_yaml
    variables, diagnostics = merge_variables({}, variables_yaml)
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return {**variables, **overrides}


@contextmanager
def _environment(overrides: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in overrides}
    os.environ.update(overrides)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
