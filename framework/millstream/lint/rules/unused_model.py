"""Views that nothing reads: no query computes them."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.lint.project import LintProject
from millstream.lint.rule import rule
from millstream.lint.values import Finding


@rule("unused-model")
def unused_model(project: LintProject) -> Iterator[Finding]:
    """Find views that no model, exposure or metric reads."""
    for model in project.models.values():
        if not model.stored and not model.readers:
            message = f"nothing reads the view '{model.name}', so nothing computes it"
            yield model.finding(message, "remove it, read it, or store it as a sink or a table")
