"""Commands above models and unit tests: they run `millstream` with arguments."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.text import Location
from millstream.editor.project import EditorProject
from millstream.editor.values import Lens


def find_lenses(view: EditorProject, path: str) -> list[Lens]:
    """Return the commands of a file."""
    return [*_of_model(view, path), *_of_unit_tests(view, path)]


def _of_model(view: EditorProject, path: str) -> Iterator[Lens]:
    model = view.paths.get(path)
    if model is None:
        return
    name, top = model.file.name, Location(path, 1, 1, 1)
    if any(unit.model == name for unit in view.project.unit_tests):
        yield Lens(top, "Run unit tests", ("test", "--unit", "--select", name))
    yield Lens(top, "Show rows", ("show", name))
    yield Lens(top, "Show plan", ("explain", name))
    yield Lens(top, "Verdict against main", ("review", "--against", "main"))


def _of_unit_tests(view: EditorProject, path: str) -> Iterator[Lens]:
    for unit in view.project.unit_tests:
        if unit.location.path == path:
            selector = f"unit_test:{unit.name}"
            yield Lens(unit.location, "Run this test", ("test", "--unit", "--select", selector))
