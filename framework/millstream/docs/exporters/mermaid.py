"""The lineage as a Mermaid flowchart, which GitHub shows in a README."""

from __future__ import annotations

from millstream.core import diagram
from millstream.docs.exporters.project import ExportedProject


def mermaid(project: ExportedProject) -> str:
    return diagram.write_mermaid(project.lineage)
