-- There are a few hundred regions.
{{ config(key='region', unbounded_state='accept') }}

select
  hits.region,
  count(*) as hit_count
from {{ ref('stg_page_hits') }} as hits
group by hits.region
