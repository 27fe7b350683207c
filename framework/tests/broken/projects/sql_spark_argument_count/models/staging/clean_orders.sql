select
  o.customer_id,
  o.order_id,
  {{ cents('o.amount') }} as cents,
  region(o.country) as region,
  o.details.channel,
  date_trunc(o.ordered_at) as ordered_at
from {{ source('app', 'orders') }} as o
where o.amount > {{ var('smallest') }}
