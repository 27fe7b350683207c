"""Python functions that would hide one of Spark's."""

from millstream.errors import Diagnostic
from millstream.project.values import Project
from millstream.sql.spark_functions import signatures


def built_in_names(project: Project) -> list[Diagnostic]:
    known = signatures()
    return [
        Diagnostic(
            "MS318",
            f"'{function.name}' is a function of Spark's",
            function.location,
            f"give it another name, such as my_{function.name}",
        )
        for function in project.functions.values()
        if function.name in known
    ]
