{{ config(optimize=['push_filter']) }}
select e.customer_id, e.amount
from {{ source('app', 'orders') }} as e
