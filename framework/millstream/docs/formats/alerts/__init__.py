"""Alert rules for Prometheus, as a file of rules in YAML."""

from __future__ import annotations

import yaml

from millstream.docs.formats.alerts.rules import Watched, alerts_of, as_text
from millstream.docs.site_input import Material


def alerts(material: Material) -> str:
    manifest = material.manifest
    fresh = tuple(
        node.id.removeprefix("test.")
        for node in manifest.nodes.values()
        if node.kind == "test" and node.test == "freshness"
    )
    watched = Watched(manifest.project, manifest.target, material.thresholds, fresh)
    rules = [
        {
            "alert": alert.name,
            "expr": alert.expression,
            "for": alert.after,
            "labels": {
                "severity": alert.severity,
                "project": as_text(manifest.project),
                "target": as_text(manifest.target),
            },
            "annotations": {"summary": alert.summary, "description": alert.description},
        }
        for alert in alerts_of(watched)
    ]
    group = {"name": f"millstream: {manifest.project} ({manifest.target})", "rules": rules}
    return yaml.safe_dump({"groups": [group]}, sort_keys=False, allow_unicode=True, width=1000).rstrip()
