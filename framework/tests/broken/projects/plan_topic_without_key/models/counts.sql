{{ config(materialized='sink') }}
select e.customer_id, count(*) as n
from {{ source('app', 'orders') }} as e
group by e.customer_id
