select c.customer_id, c.cents, r.label
from {{ source('app', 'regions') }} as c
left join {{ ref('regions') }} as r on c.region = r.region
