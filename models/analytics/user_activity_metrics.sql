{{ config(topic='user_activity_metrics', key='metrics_key', emit='on_change') }}

select
  {{ window_key('events.user_id', 'window.start') }} as metrics_key,
  window.start as window_start,
  window.end as window_end,
  events.user_id,
  count(*) as event_count,
  {{ counts_by('events.event_type', var('user_event_types')) }},
  round(sum(events.value), 2) as total_value,
  -- Sorted, so that "the first five" are the same five whatever order the events came in.
  sort_array(collect_set(events.product_id)) as product_ids,
  size(collect_set(events.product_id)) as unique_products,
  max(events.event_time) as last_updated
from {{ ref('categorized_events') }} as events
group by window(events.event_time, '1 hour'), events.user_id
