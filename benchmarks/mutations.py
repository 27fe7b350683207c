"""Wrong edits of the example project, one at a time: do its unit tests catch them? `python benchmarks/mutations.py [--tests FOLDER]`.

`--tests` takes other tests than the project's own, such as those of an earlier commit. Each edit is tried by the tests of the models
that it can change, until one fails.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from millstream.compile.graph import build_graph
from millstream.core.errors import MillstreamError
from millstream.project.values import UnitTest
from millstream.testing.session import TestSession

ROOT = Path(__file__).parents[1]
PARTS = ("models", "macros", "seeds", "tests")


class Edit(NamedTuple):
    path: str
    before: str
    after: str
    number: int = 1
    """Which of several places."""


STAGING, MARTS = "models/staging/", "models/marts/"
DEVICES, ENGAGEMENT, PARTNERS = MARTS + "devices/", MARTS + "engagement/", MARTS + "partners/"
RECOMMENDATIONS, TRAFFIC, USERS = MARTS + "recommendations/", MARTS + "traffic/", MARTS + "users/"
EDITS = (
    # dropped and turned filters
    Edit(STAGING + "stg_storefront_events.sql", "negated=true", "negated=false"),
    Edit(STAGING + "stg_partner_events.sql", "where events.is_valid\n  and", "where"),
    Edit(STAGING + "stg_partner_events.sql", "  and startswith(events.event_type, 'valid')\n", ""),
    Edit(STAGING + "stg_partner_events.sql", "\n  and events.priority <> 'spam'", ""),
    Edit(STAGING + "stg_partner_events.sql", "startswith", "contains"),
    Edit(STAGING + "stg_account_activity.sql", "where activity.activity_type is not null\n", ""),
    Edit(STAGING + "stg_page_hits.sql", "where hits.visitor_key is not null", ""),
    Edit(STAGING + "stg_app_events.sql", "where {{ in_list('events.event_type', var('user_event_types')) }}", ""),
    Edit(STAGING + "stg_device_events.sql", "where events.score >= {{ var('minimum_score') }}", ""),
    # comparisons
    Edit(STAGING + "stg_device_events.sql", ">=", ">"),
    Edit(DEVICES + "adjusted_device_events.sql", "= 'purchase'", "<> 'purchase'", 1),
    Edit(DEVICES + "adjusted_device_events.sql", "= 'purchase'", "<> 'purchase'", 2),
    Edit("macros/safe_divide.sql", "> 0", ">= 0"),
    Edit("macros/safe_divide.sql", "> 0", "> 1"),
    # constants
    Edit(DEVICES + "adjusted_device_events.sql", "1.1", "1.11"),
    Edit(DEVICES + "adjusted_device_events.sql", "+ 20", "+ 10"),
    Edit(DEVICES + "adjusted_device_events.sql", ", 100)", ", 99)"),
    Edit(STAGING + "stg_device_events.sql", "'unknown'", "'other'"),
    Edit(STAGING + "stg_page_hits.sql", "1, 5", "1, 4"),
    Edit(RECOMMENDATIONS + "scored_storefront_events.sql", "'PROCESSED'", "'DONE'"),
    Edit(RECOMMENDATIONS + "scored_storefront_events.sql", "round(events.value, 2)", "round(events.value, 1)"),
    Edit(PARTNERS + "enriched_partner_events.sql", "coalesce(events.score, 0)", "coalesce(events.score, 1)"),
    Edit(PARTNERS + "enriched_partner_events.sql", "coalesce(events.source, 'unknown')", "events.source"),
    Edit(PARTNERS + "scored_partner_events.sql", "'final'", "'last'"),
    Edit(ENGAGEMENT + "hourly_user_metrics.sql", "'unknown'", "'none'"),
    Edit(STAGING + "stg_app_events.sql", "coalesce(events.value, 0.0)", "coalesce(events.value, 1.0)"),
    Edit(ENGAGEMENT + "categorized_app_events.sql", "'engagement'", "'conversion'"),
    Edit("macros/scores.py", '"search"})', '"view"})'),
    Edit("macros/scores.py", '"electronics": 1.5', '"electronics": 1.4'),
    Edit("macros/scores.py", "MOST_FOR_VALUE: Final = 10.0", "MOST_FOR_VALUE: Final = 20.0"),
    Edit("macros/scores.py", "POINTS_PER_VALUE: Final = 0.1", "POINTS_PER_VALUE: Final = 0.2"),
    Edit("macros/scores.py", '"high": 3.0', '"high": 2.5'),
    Edit("macros/scores.py", "bonus = 50", "bonus = 60"),
    Edit("macros/scores.py", "step % 5 / 10", "step % 4 / 10"),
    # windows and their bounds
    Edit(ENGAGEMENT + "hourly_user_activity.sql", "'1 hour'", "'2 hours'"),
    Edit(TRAFFIC + "region_hit_counts_5s.sql", "'5 seconds'", "'6 seconds'"),
    Edit(STAGING + "sources.yml", "delay: 5 seconds", "delay: 1 hour"),
    Edit(STAGING + "sources.yml", "delay: 10 minutes", "delay: 10 seconds"),
    Edit("macros/window_key.sql", "unix_millis", "unix_seconds"),
    # aggregates
    Edit(USERS + "user_activity_totals.sql", "sum(coalesce(activity.score, 0))", "max(coalesce(activity.score, 0))"),
    Edit(USERS + "user_activity_totals.sql", "max_by(", "min_by("),
    Edit(USERS + "user_activity_totals.sql", "max(activity.event_time)", "min(activity.event_time)"),
    Edit(ENGAGEMENT + "hourly_user_activity.sql", "size(product_ids)", "count(events.product_id)"),
    Edit(ENGAGEMENT + "hourly_user_activity.sql", "sort_array(collect_set", "sort_array(collect_list"),
    Edit(ENGAGEMENT + "hourly_user_activity.sql", "sum(events.value)", "avg(events.value)"),
    Edit("macros/counting.sql", "count_if({{ column }} = '{{ value }}')", "count({{ column }})"),
    Edit(TRAFFIC + "region_hit_counts.sql", "count(*)", "count(distinct hits.region)"),
    # joins and their order
    Edit(ENGAGEMENT + "hourly_user_metrics.sql", "left join", "inner join"),
    Edit(STAGING + "stg_device_events.sql", "left join", "inner join"),
    Edit(ENGAGEMENT + "hourly_user_interests.sql", "-size(", "size("),
    # columns that change places, and what happens to bad records
    Edit(ENGAGEMENT + "hourly_user_metrics.sql", "'metrics.click_count', 'metrics.view_count'", "'metrics.view_count', 'metrics.click_count'"),
    Edit(DEVICES + "readable_device_events.sql", "'VALUE:', events.processed_event.value", "'VALUE:', events.processed_event.score"),
    Edit(USERS + "user_activity_totals.sql", "digits=2", "digits=1"),
    Edit(STAGING + "sources.yml", "on_bad_record: dead_letter", "on_bad_record: skip", 1),
    Edit(STAGING + "sources.yml", "on_bad_record: skip", "on_bad_record: fail", 1),
    Edit("seeds/event_types.csv", "3,purchase", "3,buy"),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="other tests than the project's")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=len(EDITS))
    options = parser.parse_args()
    began, caught = time.monotonic(), 0
    edits = EDITS[options.first : options.last]
    with tempfile.TemporaryDirectory() as folder:
        keeper = TestSession(_copy(options.tests, Path(folder) / "base"))
        keeper.spark()  # the one Spark that all others find
        for number, edit in enumerate(edits, start=options.first + 1):
            root = _copy(options.tests, Path(folder) / str(number))
            _apply(root, edit)
            by = _caught(root)
            caught += by is not None
            shown = f"{edit.before.strip()[:50]!r} → {edit.after.strip()[:50]!r}"
            print(f"{number:3} {'caught' if by else 'MISSED'}  {edit.path}: {shown}  {by or ''}", flush=True)
            shutil.rmtree(root)
        keeper.close()
    print(f"{caught} of {len(edits)} caught in {time.monotonic() - began:.0f} s")


def _copy(tests: Path, root: Path) -> Path:
    root.mkdir(parents=True)
    for name in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / name, root / name)
    for part in PARTS:
        shutil.copytree(tests if part == "tests" else ROOT / part, root / part)
    return root


def _apply(root: Path, edit: Edit) -> None:
    file = root / edit.path
    parts = file.read_text().split(edit.before)
    if len(parts) <= edit.number:
        raise SystemExit(f"{edit.path} has no {edit.before!r}")
    head, tail = edit.before.join(parts[: edit.number]), edit.before.join(parts[edit.number :])
    file.write_text(head + edit.after + tail)


def _caught(root: Path) -> str | None:
    """Return the test that fails, or why the project does not compile; None where all pass."""
    session = TestSession(root)
    try:
        for unit in _tests(session):
            try:
                # Where the answer is wrong already, other cuts of the input tell nothing new.
                if not session.judge(replace(unit, body={**unit.body, "strict": False})).passed:
                    return unit.name
            except MillstreamError as error:
                return f"{unit.name}: {error.diagnostics[0].code}"
    except MillstreamError as error:
        return f"compile: {error.diagnostics[0].code}"
    finally:
        session.close()
    return None


def _tests(session: TestSession) -> Iterator[UnitTest]:
    """Yield the tests of models whose SQL differs from the project's own, all where none does; short ones first."""
    original = TestSession(ROOT).main.compiled
    mutated = session.main.compiled
    changed = {id_ for id_, sql in mutated.sql.items() if sql != original.sql.get(id_)}
    graph = build_graph(mutated.manifest.nodes)
    units = sorted(session.main.project.unit_tests, key=lambda unit: (unit.chain, "steps" in unit.body))
    for unit in units:
        model = f"model.{unit.model}"
        if not changed or model in changed or (unit.chain and changed & graph.ancestors(model)):
            yield unit


if __name__ == "__main__":
    main()
