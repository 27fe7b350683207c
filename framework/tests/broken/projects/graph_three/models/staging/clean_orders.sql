select t.customer_id, t.cents, '' as region from {{ ref('totals') }} as t
