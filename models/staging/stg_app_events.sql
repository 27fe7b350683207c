select
  events.event_id,
  events.user_id,
  events.event_type,
  events.product_id,
  coalesce(events.value, 0.0) as value,
  events.timestamp,
  events.event_time
from {{ source('shop', 'app_events') }} as events
where {{ in_list('events.event_type', var('user_event_types')) }}
