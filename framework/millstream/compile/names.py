"""Reports Python functions whose names conflict with others."""

from millstream.core.errors import Diagnostic
from millstream.project.values import Project
from millstream.sql.signatures import load_signatures

_ENDINGS = ("_where", "_at")
"""Suffixes that queries add to names: `queries/python_calls.py`, `queries/emit/error_locations.py`."""


def built_in_names(project: Project) -> list[Diagnostic]:
    """Find functions named like one of Spark, or like what queries call another function."""
    diagnostics: list[Diagnostic] = []
    for function in project.functions.values():
        name, remedy = function.name, f"rename it, for example to my_{function.name}"
        if name in load_signatures():
            message = f"'{name}' is a function of Spark"
            diagnostics.append(Diagnostic("MS318", message, function.location, remedy))
        for ending in _ENDINGS:
            other = name.removesuffix(ending)
            if other != name and other in project.functions:
                message = f"queries use the name '{name}' to call '{other}'"
                diagnostics.append(Diagnostic("MS319", message, function.location, remedy))
    return diagnostics
