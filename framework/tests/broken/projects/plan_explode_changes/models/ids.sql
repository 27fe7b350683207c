with sets as (
  select e.customer_id, collect_set(e.order_id) as ids
  from {{ source('app', 'orders') }} as e
  group by e.customer_id
)
select s.customer_id, i.order_id
from sets as s
lateral view explode(s.ids) i as order_id
