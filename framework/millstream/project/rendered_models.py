"""Renders models again when needed, because only rendering knows where text comes from."""

from __future__ import annotations

from functools import cached_property

from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic
from millstream.core.text import FileText, Location
from millstream.project.config import resolve_config
from millstream.project.load import model_folders
from millstream.project.templates import Rendered, Renderer
from millstream.project.values import Project


class RenderedModels:
    """The rendered SQL of models of one project, each rendered once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._rendered: dict[str, Rendered | None] = {}

    @cached_property
    def renderer(self) -> Renderer:
        return Renderer(self.project)

    def of(self, name: str) -> Rendered | None:
        """Return a model's SQL; None if there is no such model, or it can't be rendered again."""
        project = self.project
        if name not in project.models:
            return None
        if name not in self._rendered:
            file, settings = project.models[name], project.settings
            properties = project.properties.get(name)
            config, _ = resolve_config(settings, model_folders(file, settings), properties, {})
            rendered = self.renderer.render(file, dict(to_builtins(config)))
            self._rendered[name] = None if rendered.failed else rendered
        return self._rendered[name]

    def at_first_line(self, path: str, code: str, message: str, remedy: str) -> Diagnostic:
        """Return a warning at the first line of a model's file."""
        file = next((file for file in self.project.models.values() if file.path == path), None)
        line = FileText(path, file.content).line(1) if file else ""
        return Diagnostic(
            code, message, Location(path, 1, 1, len(line) + 1), remedy, line, severity="warning"
        )
