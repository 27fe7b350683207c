"""All errors and warnings of a compile, and those of them that are shown."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from msgspec import Struct

from millstream.compile.error_reach import may_follow
from millstream.compile.follow_up_errors import without_followups
from millstream.compile.models import ModelCompiler
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId


class ProjectErrors(Struct, frozen=True):
    """What a compile found besides the errors of single models, and which of those may follow from it."""

    of_project: list[Diagnostic]
    unordered: AbstractSet[NodeId]
    """Models in cycles, or behind them."""
    unplanned: AbstractSet[NodeId]
    """Models that read topics whose declarations have errors."""

    def of_models(self, models: ModelCompiler) -> Iterator[Diagnostic]:
        for model in models.models.values():
            yield from model.diagnostics
            yield from model.warnings

    def shown(self, models: ModelCompiler) -> list[Diagnostic]:
        """Return the diagnostics that don't follow from others."""
        causes = [*self.of_project]
        calls: dict[str, frozenset[str]] = {}
        for model in models.models.values():
            if model.diagnostics:
                calls[model.file.path] = models.renderer.library.paths_behind(model.uses.names)
            causes += [
                diagnostic
                for diagnostic in (*model.diagnostics, *model.warnings)
                if not may_follow(model.id, diagnostic, self.unordered, self.unplanned)
            ]
        macros = {file.path for file in models.project.macros}
        return without_followups(causes, macros, calls, models.renderer.lost_macros)
