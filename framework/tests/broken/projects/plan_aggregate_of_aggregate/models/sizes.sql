select o.n, count(*) as customers
from (
  select e.customer_id, count(*) as n
  from {{ source('app', 'orders') }} as e
  group by e.customer_id
) as o
group by o.n
