select
  o.customer_id,
  o.order_id,
  {{ cents('o.amount') }} as cents,
  region(o.country) as region,
  o.details.channel,
  o.ordered_at
from {{ source('app', 'orders') }} as o
where o.amount > {{ var('smallest') }}
union all
select 'a', 1, 2, 'r', array('c'), current_timestamp()
