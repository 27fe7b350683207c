select
  o.order_id,
  (select max(l.cents) from {{ ref('labelled') }} as l) as highest
from {{ source('app', 'orders') }} as o
