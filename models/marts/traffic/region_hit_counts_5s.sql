{{ config(key='window_key') }}

select
  {{ window_key('hits.region', 'window.start') }} as window_key,
  window.start as window_start,
  window.end as window_end,
  hits.region,
  count(*) as hit_count
from {{ ref('stg_page_hits') }} as hits
group by window(hits.event_time, '5 seconds'), hits.region
