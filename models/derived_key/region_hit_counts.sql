{{ config(materialized='sink', topic='region_hit_counts', key='region') }}

select
  hits.region,
  count(*) as hit_count
from {{ ref('hits_by_region') }} as hits
group by hits.region
