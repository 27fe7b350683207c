"""Reports Python functions whose names conflict with others."""

from millstream.errors import Diagnostic
from millstream.project.values import Project
from millstream.sql.spark_functions import signatures

_ENDINGS = ("_where", "_at")
"""Suffixes that queries add to a function's name: `physical/calling.py`, `physical/emit/told.py`."""


def built_in_names(project: Project) -> list[Diagnostic]:
    known = signatures()
    return _variants(project) + [
        Diagnostic(
            "MS318",
            f"'{function.name}' is a function of Spark",
            function.location,
            f"rename it, for example to my_{function.name}",
        )
        for function in project.functions.values()
        if function.name in known
    ]


def _variants(project: Project) -> list[Diagnostic]:
    """Find functions with a name that queries use to call another function."""
    return [
        Diagnostic(
            "MS319",
            f"queries use the name '{function.name}' to call '{function.name.removesuffix(ending)}'",
            function.location,
            f"rename it, for example to my_{function.name}",
        )
        for function in project.functions.values()
        for ending in _ENDINGS
        if function.name.endswith(ending) and function.name.removesuffix(ending) in project.functions
    ]
