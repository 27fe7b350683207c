"""The project of `by_hand.stateless`: six models that read one topic."""

from __future__ import annotations

from pathlib import Path

from projects.folder import SCORES, write_project


def write(folder: Path | str) -> Path:
    return write_project(folder, FILES | {"macros/scores.py": SCORES.read_text(encoding="utf-8")})


FILES = {
    "pyproject.toml": """
        [tool.millstream]
        name = "benchmark"

        [tool.millstream.models]
        materialized = "sink"
        key = "user_id"
        """,
    "models/sources.yml": """
        sources:
          - name: shop
            topics:
              - name: storefront_events
                columns:
                  - {name: event_id, type: string}
                  - {name: type, type: string}
                  - {name: user_id, type: string}
                  - {name: timestamp, type: bigint}
                  - {name: product_id, type: string}
                  - {name: category, type: string}
                  - {name: value, type: double}
                  - {name: session_id, type: string}
                  - {name: metadata, type: "struct<source: string, device: string, browser: string>"}
                  - {name: event_time, type: timestamp, from: "timestamp_millis(timestamp)"}
        """,
    "models/scored_events.sql": """
        select
          'PROCESSED' as status,
          type as event_type,
          user_id,
          product_id,
          category,
          calculate_score(type, category, value) as score,
          round(value, 2) as value,
          timestamp,
          metadata
        from {{ source('shop', 'storefront_events') }}
        where type not in ('scroll', 'hover')
        """,
    "models/purchases.sql": """
        select event_id, user_id, product_id, category, round(value, 2) as value, event_time
        from {{ source('shop', 'storefront_events') }}
        where type = 'purchase'
        """,
    "models/product_interest.sql": """
        select
          user_id,
          product_id,
          category,
          case type when 'purchase' then 10 when 'click' then 3 else 1 end as weight,
          event_time
        from {{ source('shop', 'storefront_events') }}
        where type in ('view', 'click', 'purchase')
        """,
    "models/searches.sql": """
        select event_id, user_id, session_id, category, metadata.browser, event_time
        from {{ source('shop', 'storefront_events') }}
        where type = 'search'
        """,
    "models/mobile_visits.sql": """
        select
          user_id,
          session_id,
          type,
          concat(metadata.browser, ' on ', metadata.device) as client,
          timestamp
        from {{ source('shop', 'storefront_events') }}
        where metadata.device = 'mobile'
        """,
    "models/promising_leads.sql": """
        select
          event_id,
          user_id,
          category,
          calculate_score(type, category, value) as score,
          event_time
        from {{ source('shop', 'storefront_events') }}
        where type in ('purchase', 'search') and category in ('electronics', 'home')
        """,
}
