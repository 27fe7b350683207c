{{ config(key='metrics_key') }}

select
  {{ window_key('events.user_id', 'window.start') }} as metrics_key,
  window.start as window_start,
  window.end as window_end,
  events.user_id,
  count(*) as event_count,
  {{ counts_by('events.event_type', var('user_event_types')) }},
  round(sum(events.value), 2) as total_value,
  -- Sorted, so that "the first five" are the same five in whatever order the events came.
  sort_array(collect_set(events.product_id)) as product_ids,
  size(product_ids) as unique_products,
  max(events.event_time) as last_updated
from {{ ref('categorized_app_events') }} as events
group by window(events.event_time, '1 hour'), events.user_id
