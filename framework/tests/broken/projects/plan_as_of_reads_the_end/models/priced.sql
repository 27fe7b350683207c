{{ config(materialized='sink') }}
select o.order_id, p.price, p.valid_to
from {{ source('app', 'orders') }} as o
left join {{ source('fx', 'prices') }} for system_time as of o.ordered_at as p on p.item = o.customer_id
