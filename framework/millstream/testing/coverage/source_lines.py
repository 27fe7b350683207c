"""Where expressions of a plan were written: lines of their model's own file."""

from __future__ import annotations

import msgspec

from millstream.expressions import Expression
from millstream.project.config import resolve_config
from millstream.project.load import folders
from millstream.project.templates import Rendered, Renderer
from millstream.project.values import Project, SqlFile


class SourceLines:
    """Renders a model again when needed: only rendering knows where its text comes from."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._renderer: Renderer | None = None
        self._known: dict[str, Rendered | None] = {}

    def text(self, model: str, expression: Expression) -> str:
        """Return an expression as it stands in the compiled SQL, comments and all."""
        found = self._rendered(model)
        return found.sql[expression.start : expression.stop] if found else ""

    def line(self, model: str, expression: Expression, offset: int = 0) -> int:
        """Return the line of a place within an expression; of what a macro wrote, that of its call."""
        found = self._rendered(model)
        if found is None or self._renderer is None or not expression.stop:
            return 0
        start = expression.start + offset
        location, _, notes = self._renderer.locate(found.spans, start, start + 1)
        places = [location, *(note.location for note in notes)]
        path = self._file(model).path
        return next((each.line for each in places if each and each.path == path), 0)

    def _file(self, model: str) -> SqlFile:
        return self._project.models[model.partition(".")[2]]

    def _rendered(self, model: str) -> Rendered | None:
        """Return a model's SQL; None for what a source derives, or where a test's environment is gone."""
        if model.partition(".")[2] not in self._project.models:
            return None
        if model not in self._known:
            self._renderer = self._renderer or Renderer(self._project)
            found = self._renderer.render(self._file(model), self._config(model))
            self._known[model] = None if found.failed else found
        return self._known[model]

    def _config(self, model: str) -> dict[str, object]:
        project, file = self._project, self._file(model)
        properties = project.properties.get(file.name)
        config, _ = resolve_config(project.settings, folders(file, project.settings), properties, {})
        return dict(msgspec.to_builtins(config))
