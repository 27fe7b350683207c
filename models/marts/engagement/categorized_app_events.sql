{{ config(key='user_id') }}

select
  events.event_id,
  events.user_id,
  events.event_type,
  case
    when {{ in_list('events.event_type', var('engagement_types')) }} then 'engagement'
    else 'conversion'
  end as category,
  events.product_id,
  events.value,
  events.timestamp,
  events.event_time
from {{ ref('stg_app_events') }} as events
