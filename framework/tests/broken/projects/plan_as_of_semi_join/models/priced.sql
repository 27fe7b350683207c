{{ config(materialized='sink') }}
select o.order_id
from {{ source('app', 'orders') }} as o
left semi join {{ source('fx', 'prices') }} for system_time as of o.ordered_at as p on p.item = o.customer_id
