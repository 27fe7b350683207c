"""Ten pull requests to the example project, and the comments that they get: `golden/<name>.md`.

`MILLSTREAM_WRITE=1 uv run pytest framework/tests/review/test_golden_comments.py` writes them; read them as the
reviewer of a pull request would.
"""

import os
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.reviews import version

from millstream.review.compare import review_versions
from millstream.review.formats.markdown import write_comment
from millstream.review.rebuild_cost import collect_figures

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(__file__).parent / "golden"
MORE = """\
{{ config(materialized='table', unique_key='activity_type') }}

select
  activity.activity_type,
  count(*) as activities
from {{ source('shop', 'account_activity') }} as activity
where activity.activity_type is not null
group by activity.activity_type
"""
EDITS = {
    "reformat": [
        ("models/staging/stg_storefront_events.sql", "select\n", "-- What is worth a score.\nSELECT\n"),
        ("models/marts/users/user_activity_totals.sql", "count(*) as total_count", "COUNT(*)   AS total_count"),
        ("macros/counting.sql", "count_if({{ column }} = '{{ value }}')", "COUNT_IF( {{ column }}='{{ value }}' )"),
    ],
    "drop_more_noise": [("pyproject.toml", '["scroll", "hover"]', '["scroll", "hover", "search"]')],
    "longer_windows": [("models/marts/traffic/region_hit_counts_5s.sql", "'5 seconds'", "'10 seconds'")],
    "rename_a_column": [
        ("models/marts/engagement/hourly_user_activity.sql", "as last_updated", "as updated_at"),
        ("models/marts/engagement/hourly_user_metrics.sql", "metrics.last_updated", "metrics.updated_at"),
        ("models/marts/engagement/engagement.yml", "name: last_updated", "name: updated_at"),
    ],
    "count_what_is_known": [
        ("models/staging/stg_app_events.sql", "\nwhere ", "\nwhere events.user_id is not null\n  and "),
    ],
    "another_score": [("macros/scores.py", "else 5", "else 4")],
    "another_key": [("models/marts/recommendations/scored_storefront_events.sql", "key='user_id'", "key='product_id', partitions=12")],
    "a_table_more": [
        (
            "models/marts/users/activity_by_type.sql",
            "",
            MORE,
        ),
    ],
    "a_sink_less": [
        ("models/marts/users/user_activity_updates.sql", None, None),
        ("models/marts/users/users.yml", r"(?s)  - name: user_activity_updates\n.*?(?=  - name: active_users)", ""),
        ("models/marts/users/users.yml", "ref('user_activity_updates'), ", ""),
        ("tests/users.yml", r"(?s)  - name: the_summary_of_a_user\n.*?(?=  - name|\Z)", ""),
    ],
    "cents_for_values": [
        ("models/staging/stg_app_events.sql", "coalesce(events.value, 0.0) as value",
         "cast(round(coalesce(events.value, 0.0) * 100) as bigint) as value"),
        ("models/marts/engagement/hourly_user_activity.sql", "round(sum(events.value), 2)", "sum(events.value)"),
    ],
}  # fmt: skip


def copied(folder):
    for name in ("models", "macros", "seeds", "tests"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return version(copied(tmp_path_factory.mktemp("example") / "shop"), "main")


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """Folders of two versions, in which each review finds what those before it have kept."""
    return tmp_path_factory.mktemp("older"), tmp_path_factory.mktemp("newer")


def edited(folder, edits):
    for path, was, now in edits:
        file = folder / path
        if was is None:
            file.unlink()
        elif not was:
            file.write_text(now, encoding="utf-8")
        elif was.startswith("(?s)"):
            file.write_text(re.sub(was, now, file.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            text = file.read_text(encoding="utf-8")
            assert was in text, path
            file.write_text(text.replace(was, now), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_the_comment_on_a_pull_request(name, before, caches, tmp_path):
    now = version(edited(copied(tmp_path / "shop"), EDITS[name]))
    stats = collect_figures(now.manifest, {}, None)
    report = review_versions(before, now, stats)
    for _ in range(2):  # the second time all of it is known
        assert (
            review_versions(replace(before, cache=caches[0]), replace(now, cache=caches[1]), stats) == report
        )
    comment = write_comment(report)
    comment = re.sub(r"pyproject\.toml:\d+", "pyproject.toml:…", comment)  # whose other lines come and go
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("MILLSTREAM_WRITE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(comment, encoding="utf-8")
    assert comment == golden.read_text(encoding="utf-8")
