"""The lineage as a mermaid flowchart, which GitHub shows in a README."""

from __future__ import annotations

from millstream.docs.material import Material
from millstream.lineage.draw import mermaid as drawn
from millstream.lineage.find import whole_graph


def mermaid(material: Material) -> str:
    return drawn(whole_graph(material.manifest, tuple(material.manifest.nodes)))
