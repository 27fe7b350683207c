{{ config(materialized='sink', topic='user_metrics_summary', key='user_id') }}

select
  counts.user_id,
  struct(
    counts.total_count as total_count,
    {%- for type in var('activity_types') %}
    counts.{{ type }}_count as {{ type }}_count,
    {%- endfor %}
    counts.total_score as total_score,
    {{ safe_divide('counts.total_score', 'counts.total_count', digits=2) }} as avg_score
  ) as metrics,
  counts.last_activity
from {{ ref('user_activity_counts') }} as counts
