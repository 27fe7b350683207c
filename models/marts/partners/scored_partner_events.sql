{{ config(key='event_id') }}

select
  events.event_id,
  'PROCESSED' as status,
  events.event_type,
  events.priority,
  struct(
    events.score as base_score,
    calculate_complex_score(events.event_type, events.priority, events.score) as complex_score
  ) as scores,
  events.timestamp,
  events.batch_id,
  events.source,
  'final' as processing_stage
from {{ ref('enriched_partner_events') }} as events
