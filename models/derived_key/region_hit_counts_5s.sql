{{ config(materialized='sink', topic='region_hit_counts_5s', key='window_key') }}

select
  {{ window_key('hits.region', 'window.start') }} as window_key,
  window.start as window_start,
  window.end as window_end,
  hits.region,
  count(*) as hit_count
from {{ ref('hits_by_region') }} as hits
group by window(hits.event_time, '5 seconds'), hits.region
