{{ config(materialized='sink') }}
select o.order_id, p.price
from (select *, ordered_at + interval 1 day as paid_at from {{ source('app', 'orders') }}) as o
join {{ source('fx', 'prices') }} for system_time as of o.paid_at as p on p.item = o.customer_id
