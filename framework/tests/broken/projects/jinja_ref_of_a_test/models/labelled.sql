select c.customer_id, c.cents, r.label
from {{ ref('never_negative') }} as c
left join {{ ref('regions') }} as r on c.region = r.region
