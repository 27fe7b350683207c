select t.customer_id, t.orders
from {{ ref('totals') }} as t
union all
select t.customer_id, t.cents
from {{ ref('totals') }} as t
