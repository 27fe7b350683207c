{{ config(materialized='sink', key='customer_id') }}
select t.customer_id, t.orders
from (
  select customer_id, count(*) as orders, max(country) as country
  from {{ source('app', 'orders') }}
  group by customer_id
) as t
left semi join {{ ref('regions') }} as r on r.region < t.country
