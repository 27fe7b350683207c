"""Alert rules for Prometheus, as a file of rules in YAML."""

from __future__ import annotations

import yaml

from millstream.docs.exporters.alerts.rules import AlertSubject, alerts_of, as_text
from millstream.docs.exporters.project import ExportedProject


def alerts(project: ExportedProject) -> str:
    fresh = tuple(
        node.name for node in project.nodes.values() if node.kind == "test" and node.test == "freshness"
    )
    watched = AlertSubject(project.name, project.target, project.max_lag, project.max_staleness, fresh)
    rules = [
        {
            "alert": alert.name,
            "expr": alert.expression,
            "for": alert.after,
            "labels": {
                "severity": alert.severity,
                "project": as_text(project.name),
                "target": as_text(project.target),
            },
            "annotations": {"summary": alert.summary, "description": alert.description},
        }
        for alert in alerts_of(watched)
    ]
    group = {"name": f"millstream: {project.name} ({project.target})", "rules": rules}
    return yaml.safe_dump({"groups": [group]}, sort_keys=False, allow_unicode=True, width=1000).rstrip()
