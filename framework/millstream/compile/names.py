"""Python functions that would hide one of Spark's."""

from millstream.errors import Diagnostic
from millstream.project.values import Project
from millstream.sql.spark_functions import signatures

_ENDINGS = ("_where", "_at")
"""What queries put after a function's name: `physical/calling.py`, `physical/emit/told.py`."""


def built_in_names(project: Project) -> list[Diagnostic]:
    known = signatures()
    return _variants(project) + [
        Diagnostic(
            "MS318",
            f"'{function.name}' is a function of Spark's",
            function.location,
            f"give it another name, such as my_{function.name}",
        )
        for function in project.functions.values()
        if function.name in known
    ]


def _variants(project: Project) -> list[Diagnostic]:
    """Find functions named like the forms in which queries call others."""
    return [
        Diagnostic(
            "MS319",
            f"'{function.name}' is how queries call '{function.name.removesuffix(ending)}'",
            function.location,
            f"give it another name, such as my_{function.name}",
        )
        for function in project.functions.values()
        for ending in _ENDINGS
        if function.name.endswith(ending) and function.name.removesuffix(ending) in project.functions
    ]
