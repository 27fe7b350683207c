{{ config(key='metrics_key') }}

select
  metrics.metrics_key,
  metrics.user_id,
  metrics.window_start,
  metrics.window_end,
  metrics.event_count,
  {%- for type in var('user_event_types') %}
  metrics.{{ type }}_count,
  {%- endfor %}
  metrics.total_value,
  metrics.unique_products,
  metrics.top_categories,
  {{ safe_divide('metrics.click_count', 'metrics.view_count') }} as click_through_rate,
  {{ safe_divide('metrics.purchase_count', 'metrics.click_count') }} as conversion_rate,
  coalesce(profiles.segment, 'unknown') as user_segment,
  profiles.account_age_days,
  metrics.last_updated
from {{ ref('hourly_user_interests') }} as metrics
left join {{ source('shop', 'user_profiles') }} as profiles on profiles.user_id = metrics.user_id
