{{ config(key='user_id') }}

select
  'PROCESSED' as status,
  events.event_type,
  events.user_id,
  events.product_id,
  events.category,
  calculate_score(events.event_type, events.category, events.value) as score,
  round(events.value, 2) as value,
  events.timestamp,
  events.metadata
from {{ ref('stg_storefront_events') }} as events
