"""A badge for a README: the number of models, and how many are described and tested."""

from __future__ import annotations

from xml.sax.saxutils import escape

from millstream.docs.exporters.project import ExportedProject

_CHARACTER, _PADDING, _HEIGHT = 6.6, 12, 20
_GOOD, _FAIR, _POOR = "#1c7a45", "#8a5a00", "#b3261e"


def badge(project: ExportedProject) -> str:
    nodes, models = project.nodes.values(), project.models
    tested = {parent for node in nodes if node.kind in {"test", "unit_test"} for parent in node.depends_on}
    described = _share(sum(bool(node.description) for node in models), len(models))
    checked = _share(sum(node.id in tested for node in models), len(models))
    count = f"{len(models):,} model{'' if len(models) == 1 else 's'}"
    text = f"{count} · {described} % described · {checked} % tested"
    least = min(described, checked)
    return _drawn("millstream", text, _GOOD if least >= 80 else _FAIR if least >= 50 else _POOR)


def _share(part: int, total: int) -> int:
    return 100 * part // total if total else 100


def _drawn(left: str, right: str, color: str) -> str:
    widths = [round(len(text) * _CHARACTER) + _PADDING for text in (left, right)]
    width = sum(widths)
    title = escape(f"{left}: {right}")
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}"',
        f'     role="img" aria-label="{title}">',
        f"  <title>{title}</title>",
        f'  <clipPath id="round"><rect width="{width}" height="{_HEIGHT}" rx="4"/></clipPath>',
        '  <g clip-path="url(#round)">',
        f'    <rect width="{widths[0]}" height="{_HEIGHT}" fill="#3a4250"/>',
        f'    <rect x="{widths[0]}" width="{widths[1]}" height="{_HEIGHT}" fill="{color}"/>',
        "  </g>",
        '  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">',
        f'    <text x="{widths[0] / 2}" y="14">{escape(left)}</text>',
        f'    <text x="{widths[0] + widths[1] / 2}" y="14">{escape(right)}</text>',
        "  </g>",
        "</svg>",
    ))  # fmt: skip
