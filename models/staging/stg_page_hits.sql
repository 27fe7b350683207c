select
  substring(hits.visitor_key, 1, 5) as region,
  hits.event_time
from {{ source('shop', 'page_hits') }} as hits
where hits.visitor_key is not null
