"""Finds the lines of expressions in the file of their model."""

from __future__ import annotations

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.project.rendered_models import RenderedModels
from millstream.project.values import Project


class SourceLines:
    """The texts and lines of expressions."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._rendered = RenderedModels(project)

    def text(self, model: NodeId, expression: Expression) -> str:
        """Return the text of an expression in the compiled SQL, with its comments."""
        rendered = self._rendered.of(model.name)
        return rendered.sql[expression.start : expression.stop] if rendered else ""

    def line(self, model: NodeId, expression: Expression, offset: int = 0) -> int:
        """Return the line of an offset within an expression; for a macro's text, the line of its call."""
        rendered = self._rendered.of(model.name)
        if rendered is None or not expression.stop:
            return 0
        start = expression.start + offset
        location, _, notes = self._rendered.renderer.locate(rendered, start, start + 1)
        locations = [location, *(note.location for note in notes)]
        path = self._project.models[model.name].path
        return next((location.line for location in locations if location and location.path == path), 0)
