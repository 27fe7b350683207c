"""The lineage as a Mermaid flowchart, which GitHub shows in a README."""

from __future__ import annotations

from millstream.compile.lineage.draw import diagram as lineage_diagram
from millstream.compile.lineage.find import whole_graph
from millstream.core import diagram
from millstream.docs.site_input import Material


def mermaid(material: Material) -> str:
    return diagram.mermaid(lineage_diagram(whole_graph(material.manifest, tuple(material.manifest.nodes))))
