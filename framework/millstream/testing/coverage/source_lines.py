"""Finds the lines of expressions in the file of their model."""

from __future__ import annotations

from millstream.core.encoding import to_builtins
from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.project.config import resolve_config
from millstream.project.load import model_folders
from millstream.project.templates import Rendered, Renderer
from millstream.project.values import Project, SqlFile


class SourceLines:
    """Renders models again when needed, because only rendering knows where text comes from."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._renderer: Renderer | None = None
        self._rendered_models: dict[NodeId, Rendered | None] = {}

    def text(self, model: NodeId, expression: Expression) -> str:
        """Return the text of an expression in the compiled SQL, with its comments."""
        rendered = self._rendered(model)
        return rendered.sql[expression.start : expression.stop] if rendered else ""

    def line(self, model: NodeId, expression: Expression, offset: int = 0) -> int:
        """Return the line of an offset within an expression; for a macro's text, the line of its call."""
        rendered = self._rendered(model)
        if rendered is None or self._renderer is None or not expression.stop:
            return 0
        start = expression.start + offset
        location, _, notes = self._renderer.locate(rendered, start, start + 1)
        locations = [location, *(note.location for note in notes)]
        path = self._file(model).path
        return next((location.line for location in locations if location and location.path == path), 0)

    def _file(self, model: NodeId) -> SqlFile:
        return self._project.models[model.name]

    def _rendered(self, model: NodeId) -> Rendered | None:
        """Return a model's SQL; None for derived columns of sources, or if it can't be rendered again."""
        if model.name not in self._project.models:
            return None
        if model not in self._rendered_models:
            project, file = self._project, self._file(model)
            self._renderer = self._renderer or Renderer(project)
            properties = project.properties.get(file.name)
            config, _ = resolve_config(
                project.settings, model_folders(file, project.settings), properties, {}
            )
            rendered = self._renderer.render(file, dict(to_builtins(config)))
            self._rendered_models[model] = None if rendered.failed else rendered
        return self._rendered_models[model]
