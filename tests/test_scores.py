"""Tests in Python use the same models, for what rows in YAML would say less well."""

import runpy
from itertools import product
from pathlib import Path


def test_sql_scores_as_the_function_does(run_model, project):
    score = runpy.run_path(str(Path(project.root, "macros/scores.py")))["calculate_score"]
    given = [
        {"event_id": f"{kind}-{category}-{value}", "event_type": kind, "category": category, "value": value}
        for kind, category, value in product(
            ["purchase", "search", "view", None], ["books", "sports", "garden", None], [0.0, 42.5, 1e6, None]
        )
    ]
    rows = run_model("scored_storefront_events", inputs={"ref('stg_storefront_events')": given})
    found = sorted((row["event_type"] or "", row["category"] or "", row["score"]) for row in rows)
    assert found == sorted(
        (e["event_type"] or "", e["category"] or "", score(e["event_type"], e["category"], e["value"]))
        for e in given
    )
