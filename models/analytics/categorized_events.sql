{{ config(topic='categorized_events', key='user_id') }}

select
  events.event_id,
  events.user_id,
  events.event_type,
  case
    when {{ in_list('events.event_type', var('engagement_types')) }} then 'engagement'
    else 'conversion'
  end as category,
  events.product_id,
  coalesce(events.value, 0.0) as value,
  events.timestamp,
  events.event_time
from {{ source('shop', 'user_events') }} as events
where {{ in_list('events.event_type', var('user_event_types')) }}
