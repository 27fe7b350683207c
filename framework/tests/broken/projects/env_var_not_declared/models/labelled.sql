select c.customer_id, c.cents, '{{ env_var('STRIPE_KEY') }}' as label
from {{ ref('clean_orders') }} as c
left join {{ ref('regions') }} as r on c.region = r.region
