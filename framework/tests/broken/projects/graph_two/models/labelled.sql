select t.customer_id, t.cents, '' as label from {{ ref('totals') }} as t
