"""The project of `by_hand.stateful`: five aggregates on the key of one topic."""

from __future__ import annotations

from pathlib import Path

from projects.folder import write_project


def write(folder: Path | str) -> Path:
    return write_project(folder, FILES)


FILES = {
    "pyproject.toml": """
        [tool.millstream]
        name = "benchmark"

        [tool.millstream.vars]
        types = ["login", "page_view", "click", "purchase", "logout"]

        [tool.millstream.models]
        unbounded_state = "accept"
        totals = { materialized = "sink", key = "user_id" }
        """,
    "models/sources.yml": """
        sources:
          - name: shop
            topics:
              - name: account_activity
                key: {name: user_id, type: string}
                columns:
                  - {name: activity_type, type: string}
                  - {name: score, type: bigint}
                  - {name: timestamp, type: bigint}
                  - {name: session_id, type: string}
                  - {name: duration_ms, type: bigint}
                  - {name: event_time, type: timestamp, from: "timestamp_millis(timestamp)"}
        """,
    "models/activities.sql": """
        select *
        from {{ source('shop', 'account_activity') }}
        where activity_type is not null
        """,
    "models/totals/activity_totals.sql": """
        select
          user_id,
          count(*) as activities,
          sum(score) as total_score,
          round(sum(score) / count(*), 2) as average_score
        from {{ ref('activities') }}
        group by user_id
        """,
    "models/totals/activity_types.sql": """
        select
          user_id
          {%- for type in var('types') %},
          count_if(activity_type = '{{ type }}') as {{ type }}_count
          {%- endfor %}
        from {{ ref('activities') }}
        group by user_id
        """,
    "models/totals/activity_durations.sql": """
        select
          user_id,
          min(duration_ms) as shortest,
          max(duration_ms) as longest,
          sum(duration_ms) as total_duration
        from {{ ref('activities') }}
        group by user_id
        """,
    "models/totals/last_activities.sql": """
        select
          user_id,
          max_by(struct(activity_type, score, session_id, timestamp), event_time) as last_activity,
          max(event_time) as last_active_at
        from {{ ref('activities') }}
        group by user_id
        """,
    "models/totals/purchase_scores.sql": """
        select
          user_id,
          count(*) as purchases,
          sum(score) as total_score,
          max(score) as best_score
        from {{ ref('activities') }}
        where activity_type = 'purchase'
        group by user_id
        """,
}
