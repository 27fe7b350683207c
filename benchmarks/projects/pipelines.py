"""The pipelines of `peers/` as a project: eleven sinks over one topic of events, and a table of products."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from pathlib import Path

from projects.folder import write_project

TOPICS = {
    "efficient": ("processed_events",),
    "state": ("user_metrics_summary",),
    "staged": ("filtered_events", "enriched_events", "final_processed_events"),
    "serial": ("optimized_events", "readable_events"),
    "analytics": ("categorized_events", "user_activity_metrics", "enriched_metrics", "user_metrics"),
}


def write(folder: Path | str, modes: Sequence[str], events: str, prefix: str) -> Path:
    """Write the models of some pipelines, which read the topic `events`; `prefix` precedes the topics they write."""
    models = {
        f"models/{name}.sql": f"{{{{ config(topic='{prefix}.{name}') }}}}\n{cleandoc(MODELS[name])}"
        for mode in modes
        for name in TOPICS[mode]
    }
    return write_project(
        folder,
        {
            "pyproject.toml": PROJECT,
            "models/sources.yml": SOURCES.replace("EVENTS", events),
            "macros/scores.py": SCORES,
            "macros/rounding.sql": ROUNDING,
        }
        | models
        | ({"models/models.yml": TESTS} if "analytics" in modes else {}),
    )


PROJECT = """
    [tool.millstream]
    name = "benchmark"

    [tool.millstream.models]
    materialized = "sink"
    key = "user_id"
    """

SOURCES = """
    sources:
      - name: shop
        topics:
          - name: events
            topic: EVENTS
            columns:
              - {name: event_id, type: string}
              - {name: event_type, type: string}
              - {name: type_id, type: int}
              - {name: user_id, type: string}
              - {name: timestamp, type: bigint}
              - {name: product_id, type: string}
              - {name: category, type: string}
              - {name: value, type: double}
              - {name: score, type: int}
              - {name: priority, type: string}
              - {name: session_id, type: string}
              - {name: metadata, type: "struct<device: string>"}
              - {name: event_time, type: timestamp, from: timestamp_millis(timestamp)}
            watermark: {column: event_time, delay: 1 hour}
          - name: products
            topic: c_products
            table: true
            key: {name: id, type: string}
            columns:
              - {name: product_id, type: string}
              - {name: category, type: string}
    """

TESTS = """
    models:
      - name: user_activity_metrics
        columns:
          - {name: metrics_key, tests: [not_null]}
    """

ROUNDING = """
    {%- macro round2(value) -%}
      floor({{ value }} * 100 + 0.5D) / 100
    {%- endmacro -%}
    """

SCORES = '''
    """The functions of the pipelines, as `peers/pyspark/handwritten.py` has them."""

    import math
    from dataclasses import dataclass

    CATEGORY_FACTOR = {"electronics": 1.5, "clothing": 1.2, "books": 1.0, "home": 1.3, "sports": 1.1}
    LEVEL_FACTOR = {"high": 3.0, "medium": 2.0, "low": 1.0}
    TYPE_NAMES = ("unknown", "view", "click", "purchase", "search", "logout", "login", "scroll", "hover")


    @dataclass
    class Optimized:
        type: str
        value: float
        score: int


    def event_score(event_type: str, category: str, value: float) -> float:
        base = 10 if event_type in ("purchase", "search") else 5
        score = base * CATEGORY_FACTOR.get(category, 1.0) + min(value * 0.1, 10.0)
        return math.floor(score * 100 + 0.5) / 100


    def complex_score(event_type: str, priority: str, score: int) -> float:
        x = score * LEVEL_FACTOR.get(priority, 1.0) + (50 if event_type == "purchase" else 10)
        for i in range(100):
            x += (i % 5) * 0.1
        return math.floor(x * 100 + 0.5) / 100


    def optimize(type_id: int, value: float, score: int) -> Optimized:
        if type_id == 3:
            return Optimized(TYPE_NAMES[type_id], float(int(value * 1.1)), min(score + 20, 100))
        return Optimized(TYPE_NAMES[type_id], value, score)


    def summarize(kind: str, user_id: str, value: float, score: int) -> str:
        shown = str(int(value)) if value == int(value) else str(value)
        return f"EVENT:{kind} USER:{user_id} VALUE:{shown} SCORE:{score}"
    '''

MODELS = {
    "processed_events": """
        select
          event_type, user_id, product_id, category, timestamp, metadata,
          'PROCESSED' as status,
          event_score(event_type, category, value) as score,
          {{ round2('value') }} as value
        from {{ source('shop', 'events') }}
        where event_type not in ('scroll', 'hover')
        """,
    "user_metrics_summary": """
        {{ config(unbounded_state='accept') }}
        {%- set counts = {
          'login': 'login_count', 'view': 'page_view_count', 'click': 'click_count',
          'purchase': 'purchase_count', 'logout': 'logout_count',
        } %}
        with totals as (
          select
            user_id,
            count(*) as total_count,
            {%- for type, name in counts.items() %}
            count_if(event_type = '{{ type }}') as {{ name }},
            {%- endfor %}
            sum(score) as total_score,
            max_by(struct(event_type as type, score, timestamp), timestamp) as last_activity
          from {{ source('shop', 'events') }}
          group by user_id
        )
        select
          user_id,
          struct(
            total_count,
            {%- for name in counts.values() %}
            {{ name }},
            {%- endfor %}
            total_score,
            {{ round2('(total_score / total_count)') }} as avg_score
          ) as metrics,
          last_activity
        from totals
        """,
    "filtered_events": """
        select
          event_id, event_type, type_id, user_id, timestamp, product_id, category, value, score, priority, session_id, metadata
        from {{ source('shop', 'events') }}
        where event_type in ('purchase', 'view') and priority <> 'spam'
        """,
    "enriched_events": """
        select event_id, user_id, event_type, priority, score, timestamp, 'ENRICHED' as status
        from {{ ref('filtered_events') }}
        """,
    "final_processed_events": """
        select
          event_id, user_id, event_type, priority, timestamp,
          'PROCESSED' as status,
          'final' as processing_stage,
          struct(score as base_score, complex_score(event_type, priority, score) as complex_score) as scores
        from {{ ref('enriched_events') }}
        """,
    "optimized_events": """
        with optimized as (
          select user_id, timestamp, metadata, optimize(type_id, value, score) as o
          from {{ source('shop', 'events') }}
          where score >= 10
        )
        select
          user_id,
          struct(o.type, user_id, o.value, o.score, timestamp) as processed_event,
          metadata,
          struct(true as optimized, 'v2' as version) as processing_info
        from optimized
        """,
    "readable_events": """
        {%- set event = 'processed_event' %}
        select
          user_id,
          summarize({{ event }}.type, {{ event }}.user_id, {{ event }}.value, {{ event }}.score) as summary,
          struct(
            {{ event }}.type as event_type, {{ event }}.user_id, {{ event }}.value, {{ event }}.score, {{ event }}.timestamp
          ) as details,
          metadata,
          processing_info
        from {{ ref('optimized_events') }}
        """,
    "categorized_events": """
        select
          event_id, user_id, timestamp, event_type, product_id, value, event_time,
          if(event_type in ('purchase', 'search'), 'conversion', 'engagement') as category
        from {{ source('shop', 'events') }}
        where event_type in ('view', 'click', 'purchase', 'search')
        """,
    "user_activity_metrics": """
        {{ config(key='metrics_key') }}
        select
          concat(user_id, '@', unix_millis(window.start)) as metrics_key,
          user_id,
          unix_millis(window.start) as window_start,
          max(timestamp) as last_updated,
          count(*) as event_count,
          {%- for type in ('view', 'click', 'purchase', 'search') %}
          count_if(event_type = '{{ type }}') as {{ type }}_count,
          {%- endfor %}
          sum(value) as total_value,
          array_sort(collect_set(product_id)) as product_ids,
          size(product_ids) as unique_products
        from {{ ref('categorized_events') }}
        group by user_id, window(event_time, '1 hour')
        """,
    "enriched_metrics": """
        {{ config(key='metrics_key') }}
        with catalog as (
          select *, {{ lookup_map('products', 'product_id', 'category') }} as category_of
          from {{ ref('user_activity_metrics') }}
        ),
        found as (
          select
            * except (category_of),
            filter(transform(slice(product_ids, 1, 5), id -> category_of[id]), category -> category is not null) as categories
          from catalog
        )
        select
          * except (categories),
          slice(
            transform(
              array_sort(
                transform(
                  array_distinct(categories),
                  category -> struct(-size(filter(categories, other -> other = category)) as n, category as category)
                )
              ),
              each -> struct(each.category as category, -each.n as count)
            ),
            1, 3
          ) as top_categories
        from found
        """,
    "user_metrics": """
        {{ config(key='metrics_key') }}
        select
          metrics_key,
          user_id,
          window_start,
          last_updated as timestamp,
          struct(
            event_count, total_value, unique_products, view_count, click_count, purchase_count, search_count,
            if(view_count > 0, click_count / view_count, null) as click_through_rate,
            if(click_count > 0, purchase_count / click_count, null) as conversion_rate
          ) as window_metrics,
          top_categories
        from {{ ref('enriched_metrics') }}
        """,
}
