select
  o.customer_id,
  o.order_id,
  {{ cents('o.amount', 2) }} as cents,
  region(o.country) as region,
  o.details.channel,
  o.ordered_at
from {{ source('app', 'orders') }} as o
where o.amount > {{ var('smallest') }}
