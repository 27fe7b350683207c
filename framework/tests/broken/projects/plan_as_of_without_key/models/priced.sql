{{ config(materialized='sink') }}
select o.order_id, p.price
from {{ source('app', 'orders') }} as o
join {{ source('fx', 'prices') }} for system_time as of o.ordered_at as p on p.price = o.amount
