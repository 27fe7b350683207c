"""Finds the locations of the parts of a unit test in its file."""

from __future__ import annotations

from pathlib import Path

from yaml.nodes import MappingNode, Node, SequenceNode

from millstream.core.errors import Diagnostic
from millstream.core.text import FileText, Location
from millstream.project.files import File, read_file
from millstream.project.references import model_in
from millstream.project.values import UnitTest
from millstream.project.yaml import location_of, mapping_entries, parse_yaml

NodePath = tuple[str | int, ...]


class YamlFiles:
    """The files of tests, each read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, tuple[FileText, Node | None]] = {}
        self._tests: dict[str, dict[tuple[str, str], Node]] = {}
        """For each file, the nodes of its tests by model and name."""

    def file(self, path: str) -> tuple[FileText, Node | None]:
        if path not in self._files:
            file = read_file(self.root, path)
            text = FileText(path, file.content if isinstance(file, File) else "")
            self._files[path] = (text, parse_yaml(text)[0])
        return self._files[path]

    def forget(self, path: str) -> None:
        """Read a file again next time, because it has changed."""
        self._files.pop(path, None)
        self._tests.pop(path, None)

    def node(self, unit: UnitTest) -> Node | None:
        path = unit.location.path
        if path not in self._tests:
            self._tests[path] = self._tests_in(path)
        return self._tests[path].get((unit.model, unit.name))

    def _tests_in(self, path: str) -> dict[tuple[str, str], Node]:
        _, root = self.file(path)
        section = mapping_entries(root).get("unit_tests") if root is not None else None
        tests: dict[tuple[str, str], Node] = {}
        for node in section[1].value if section and isinstance(section[1], SequenceNode) else ():
            values = {name: value.value for name, (_, value) in mapping_entries(node).items()}
            tests[tested_model(str(values.get("model", ""))), str(values.get("name"))] = node
        return tests

    def location(self, unit: UnitTest, path: NodePath = (), *, key: bool = False) -> Location:
        """Return the location of a part of a test, or of its nearest existing parent.

        With `key`, the location of the last step's name instead of its value.
        """
        text, _ = self.file(unit.location.path)
        node = self.node(unit)
        if node is None:
            return unit.location
        nearest: Node = node
        for index, step in enumerate(path):
            last = index == len(path) - 1
            if isinstance(nearest, MappingNode) and str(step) in (fields := mapping_entries(nearest)):
                nearest = fields[str(step)][0 if last and key else 1]
            elif isinstance(nearest, SequenceNode) and isinstance(step, int) and step < len(nearest.value):
                nearest = nearest.value[step]
            else:
                break
        return location_of(text, nearest)

    def diagnostic(
        self, unit: UnitTest, path: NodePath, code: str, message: str, remedy: str, *, key: bool = False
    ) -> Diagnostic:
        location = self.location(unit, path, key=key)
        line = self.file(location.path)[0].line(location.line)
        return Diagnostic(code, f"unit test '{unit.name}': {message}", location, remedy, line)


def tested_model(written: str) -> str:
    """Return the name of the tested model, without the `+` that also computes the models upstream."""
    return model_in(written.strip().removeprefix("+"))
