select
  events.user_id,
  coalesce(types.event_type, 'unknown') as event_type,
  events.value,
  events.score,
  events.timestamp,
  events.metadata
from {{ source('shop', 'device_events') }} as events
left join {{ ref('event_types') }} as types on types.event_type_id = events.event_type_id
where events.score >= {{ var('minimum_score') }}
