select c.customer_id, c.cents, r.label
from {{ source('shop', 'clean_orders') }} as c
left join {{ ref('regions') }} as r on c.region = r.region
