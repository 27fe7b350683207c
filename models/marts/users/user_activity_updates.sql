{{ config(key='user_id') }}

select
  totals.user_id,
  struct(
    totals.total_count as total_count,
    {%- for type in var('activity_types') %}
    totals.{{ type }}_count as {{ type }}_count,
    {%- endfor %}
    totals.total_score as total_score,
    totals.avg_score as avg_score
  ) as metrics,
  totals.last_activity
from {{ ref('user_activity_totals') }} as totals
