select
  e.customer_id,
  count(*) as orders,
  max(e.amount) as highest,
  count(distinct e.country) as countries
from {{ source('app', 'orders') }} as e
group by e.customer_id
