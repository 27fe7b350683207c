select o.order_id, l.label
from {{ source('app', 'orders') }} as o
left join {{ ref('labelled') }} as l on o.customer_id = l.customer_id
