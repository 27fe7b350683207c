select
  events.event_id,
  events.event_type,
  events.priority,
  events.score,
  events.timestamp,
  events.batch_id,
  events.source,
  events.event_time
from {{ source('shop', 'partner_events') }} as events
where events.is_valid
  and startswith(events.event_type, 'valid')
  and events.priority <> 'spam'
