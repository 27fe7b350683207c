"""A dashboard for Grafana, in the JSON that it imports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from millstream.core.encoding import to_json
from millstream.docs.exporters.grafana.panels import DROPPED, OWN_ROW, ROWS, Kind, Panel, own_panel
from millstream.docs.exporters.project import ExportedProject
from millstream.docs.exporters.promql import quote_promql

SCHEMA_VERSION = 41
"""Of Grafana 11.6; newer versions convert it."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 24, 8
_SIZES: dict[Kind, tuple[int, int]] = {"timeseries": (12, _HEIGHT), "stat": (3, 4), "table": (12, _HEIGHT)}
_JOINER = "\u2060"


def grafana(project: ExportedProject) -> str:
    document = {
        "uid": f"millstream-{sha256(project.name.encode()).hexdigest()[:16]}",
        "title": escape_variables(f"{project.name}: Millstream"),
        "description": escape_variables(f"The runs of the project {project.name}."),
        "tags": ["millstream"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-3h", "to": "now"},
        "refresh": "30s",
        "schemaVersion": SCHEMA_VERSION,
        "templating": {"list": list(_variables(project.name))},
        "annotations": {"list": []},
        "panels": list(_panels(panels_of(project))),
    }
    return msgspec.json.format(to_json(document), indent=2).decode()


def panels_of(project: ExportedProject) -> dict[str, tuple[Panel, ...]]:
    """Return the panels by row: those of each run, then those of the project's own metrics."""
    project_panels = tuple(map(own_panel, project.metrics))
    return ROWS | {OWN_ROW: (*project_panels, DROPPED)}


def escape_variables(text: str) -> str:
    """Return a text in which Grafana finds no variables: it has no way to escape them."""
    return re.sub(r"\$(?=[\w{])|\[(?=\[)", lambda match: match[0] + _JOINER, text)


def _variables(project: str) -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    run = f"millstream_run{{project={quote_promql(project)}"
    for name, label, query in (
        ("target", "Target", f"label_values({run}}}, target)"),
        ("instance", "Run", f'label_values({run},target=~"$target"}}, instance)'),
        ("query", "Query", 'label_values(millstream_up{instance=~"$instance"}, query)'),
        (
            "model",
            "Model",
            'label_values(millstream_model{instance=~"$instance",query=~"$query"}, model)',
        ),
    ):
        yield {
            "name": name,
            "label": label,
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": query, "refId": f"Variable-{name}"},
            "refresh": 2,  # also when the time range changes
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        }


def _panels(rows: Mapping[str, tuple[Panel, ...]]) -> Iterator[dict[str, Any]]:
    """Yield rows and panels, placed from left to right and top to bottom."""
    number, top = 0, 0
    for title, panels in rows.items():
        number += 1
        position = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": position,
            "panels": [],
        }
        top, left, tallest = top + 1, 0, 0
        for panel in panels:
            width, height = _SIZES[panel.kind]
            if left + width > _WIDTH:
                top, left, tallest = top + tallest, 0, 0
            number += 1
            yield _panel(number, panel, {"x": left, "y": top, "w": width, "h": height})
            left, tallest = left + width, max(tallest, height)
        top += tallest


def _panel(number: int, panel: Panel, position: Mapping[str, int]) -> dict[str, Any]:
    about = dict.fromkeys(expression.metric.description for expression in panel.expressions)
    note = (f"No data {panel.empty}.",) if panel.empty else ()
    return {
        "id": number,
        "type": panel.kind,
        "title": escape_variables(panel.title),
        "description": escape_variables("\n\n".join((*about, *note))),
        "datasource": _SOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": _OPTIONS[panel.kind],
        "transformations": _TRANSFORMATIONS.get(panel.kind, []),
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": expression.promql,
                "legendFormat": expression.legend or "__auto",
                **({"instant": True, "format": "table"} if panel.kind == "table" else {"range": True}),
            }
            for index, expression in enumerate(panel.expressions)
        ],
    }


_OPTIONS: dict[Kind, dict[str, Any]] = {
    "timeseries": {
        "legend": {
            "displayMode": "list",
            "placement": "bottom",
            "showLegend": True,
            "calcs": [],
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
        "graphMode": "area",
        "colorMode": "value",
        "justifyMode": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
        "orientation": "auto",
    },
    "table": {"showHeader": True, "showTypeIcons": False, "frameIndex": 0},
}
_TRANSFORMATIONS: dict[Kind, list[dict[str, Any]]] = {
    "table": [{"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}],
}
