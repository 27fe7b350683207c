with totals as (
  select e.customer_id, sum(e.amount) as amount
  from {{ source('app', 'orders') }} as e
  group by e.customer_id
)
select t.amount
from totals as t
