select
  events.event_id,
  events.type as event_type,
  events.user_id,
  events.product_id,
  events.category,
  events.value,
  events.timestamp,
  events.metadata,
  events.event_time
from {{ source('shop', 'storefront_events') }} as events
where {{ in_list('events.type', var('ignored_event_types'), negated=true) }}
