"""What the last build says of models whose stored rows a command shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.core.node_id import NodeId
from millstream.project.settings import read_settings
from millstream.project.values import Target
from millstream.results.run_results import read_results

_DONE = {"error": "failed", "skipped": "was skipped"}


def failed_builds(root: Path, target: Target, models: Iterable[NodeId]) -> Iterator[Diagnostic]:
    """Yield a warning for each model that the last build did not complete: it may lack rows, or have none."""
    settings, _ = read_settings(root)
    results = read_results(root / settings.target_path, settings.name, target.title)
    by_model = {result.id: result for result in results.results} if results is not None else {}
    for model in models:
        result = by_model.get(model)
        if result is None or result.status == "success":
            continue
        ended = f"the last build of '{model.name}' {_DONE[result.status]}"
        notes = (DiagnosticNote(result.message),) if result.message else ()
        remedy = f"fix that, and build it: millstream build --select +{model.name}"
        message = f"{ended}: its rows are those from before"
        yield Diagnostic("MS615", message, None, remedy, notes=notes, severity="warning")
