{{ config(materialized='sink') }}
select b.item, p.price
from {{ source('fx', 'baskets') }} as b
join {{ source('fx', 'prices') }} for system_time as of b.put_at as p on p.item = b.item
