"""A project whose models read each other in all the ways that pass on columns without naming them."""

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "p"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
    "models/s.yml": """
sources:
  - name: app
    topics:
      - name: events
        columns: [{name: id, type: string}, {name: score, type: double}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 10 seconds}
""",
    "models/z_first.sql": "select e.id, e.score, e.at, struct(e.id as a) as part from {{ source('app', 'events') }} as e",
    "models/windows.sql": "{{ config(materialized='table', unique_key=['begin', 'id']) }} select window.start as begin, window.end as stop, f.id, count(*) as n from {{ ref('z_first') }} as f group by window(f.at, '5 seconds'), f.id",
    "models/aliases.sql": "{{ config(materialized='table', unique_key='id') }} select f.id, sum(f.score) as total, count(*) as n, total / n as mean from {{ ref('z_first') }} as f group by f.id having mean > 1",
    "models/stars.sql": "with s as (select f.* except (score), f.score * 2 as more from {{ ref('z_first') }} as f) select s.* except (at) from s",
    "models/all_stars.sql": "select * except (at) from {{ ref('z_first') }}",
    "models/parts.sql": "select f.part.* except (a), f.id from {{ ref('z_first') }} as f",
    "models/later.sql": "select s.id, s.more from {{ ref('stars') }} as s where s.id is not null",
    "models/joined.sql": "select a.id, at, more from {{ ref('z_first') }} as a join {{ ref('later') }} as l on a.id = l.id and a.at = l.id",
    "models/d.yml": "models: [{name: stars, columns: [{name: id}, {name: more}]}, {name: windows, columns: [{name: begin, tests: [not_null]}]}]",
}
