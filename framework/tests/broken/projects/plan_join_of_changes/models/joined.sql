with totals as (
  select e.customer_id, sum(e.amount) as amount
  from {{ source('app', 'orders') }} as e
  group by e.customer_id
)
select o.order_id, t.amount
from {{ source('app', 'orders') }} as o
join totals as t on o.customer_id = t.customer_id
