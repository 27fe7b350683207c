{{ config(key='event_id') }}

select
  events.event_id,
  'ENRICHED' as status,
  events.event_type,
  events.priority,
  coalesce(events.score, 0) as score,
  events.timestamp,
  coalesce(events.batch_id, 0) as batch_id,
  coalesce(events.source, 'unknown') as source
from {{ ref('valid_partner_events') }} as events
