-- A row for each page, kept forever, because the number of pages is limited.
{{ config(materialized='table', unique_key='page', unbounded_state='accept') }}

select
  clicks.page,
  count(*) as clicks,
  max(clicks.clicked_at) as last_clicked_at
from {{ source('web', 'clicks') }} as clicks
group by clicks.page
