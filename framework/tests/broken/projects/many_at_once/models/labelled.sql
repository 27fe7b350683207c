select c.customer_id, c.cets, r.label
from {{ ref('clean_orders') }} as c
left join {{ ref('regionz') }} as r on c.region = r.region
