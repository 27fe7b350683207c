{{ config(key='user_id') }}

with adjusted as (
  select
    events.user_id,
    events.event_type,
    -- The factor is an exact decimal, and the cast cuts what is behind the point.
    case
      when events.event_type = 'purchase' then cast(events.value * 1.1 as bigint)
      else events.value
    end as value,
    case
      when events.event_type = 'purchase' then least(events.score + 20, 100)
      else events.score
    end as score,
    events.timestamp,
    events.metadata
  from {{ ref('stg_device_events') }} as events
)
select
  adjusted.user_id,
  struct(
    adjusted.event_type as type,
    adjusted.user_id as user_id,
    adjusted.value as value,
    adjusted.score as score,
    adjusted.timestamp as timestamp
  ) as processed_event,
  adjusted.metadata,
  struct(true as optimized, 'v2' as version) as processing_info
from adjusted
