{{ config(key='user_id') }}

select
  events.user_id,
  concat_ws(
    ' ',
    concat('EVENT:', events.processed_event.type),
    concat('USER:', events.processed_event.user_id),
    concat('VALUE:', events.processed_event.value),
    concat('SCORE:', events.processed_event.score)
  ) as summary,
  struct(
    events.processed_event.type as event_type,
    events.processed_event.user_id as user_id,
    events.processed_event.value as value,
    events.processed_event.score as score,
    events.processed_event.timestamp as timestamp
  ) as details,
  events.metadata,
  events.processing_info
from {{ ref('adjusted_device_events') }} as events
