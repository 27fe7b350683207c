"""Python functions that can't run in the JVM."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.text import FileText, Location
from millstream.lint.project import LintProject
from millstream.lint.rule import rule
from millstream.lint.values import Finding
from millstream.project.files import File, read_file


@rule("python-function")
def python_function(project: LintProject) -> Iterator[Finding]:
    """Find Python functions that models call for each row, and that do not run natively."""
    functions = project.project.functions
    callers: dict[str, list[str]] = {}
    for model in project.models.values():
        for name in model.node.functions:
            callers.setdefault(name, []).append(model.name)
    for name, models in callers.items():
        obstacle, function = project.obstacles.get(name), functions.get(name)
        if obstacle is None or function is None or function.runs == "python" or function.table:
            continue
        location = _line(project, function.path, obstacle.line) if obstacle.line else function.location
        message = f"'{name}' runs in Python, not natively: {obstacle.what}"
        remedy = (
            "write it in another way (see functions.md in the docs), or set `runs: python` of the function"
        )
        yield Finding(project.models[models[0]].id, message, remedy, location=location)


def _line(project: LintProject, path: str, number: int) -> Location:
    file = read_file(project.root, path)
    line = FileText(path, file.content).line(number) if isinstance(file, File) else ""
    return Location(path, number, len(line) - len(line.lstrip()) + 1, len(line) + 1)
