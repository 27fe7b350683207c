-- There are a few hundred regions.
{{ config(materialized='sink', topic='region_hit_counts', key='region', unbounded_state='accept') }}

select
  hits.region,
  count(*) as hit_count
from {{ ref('hits_by_region') }} as hits
group by hits.region
