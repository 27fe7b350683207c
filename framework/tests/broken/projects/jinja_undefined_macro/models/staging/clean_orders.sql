select
  o.customer_id,
  o.order_id,
  {{ cnts('o.amount') }} as cents,
  region(o.country) as region,
  o.details.channel,
  o.ordered_at
from {{ source('app', 'orders') }} as o
where o.amount > {{ var('smallest') }}
