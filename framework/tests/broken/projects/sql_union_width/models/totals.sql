select customer_id from {{ ref('labelled') }}
union all
select customer_id, label from {{ ref('labelled') }}
