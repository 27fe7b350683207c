{{ config(materialized='sink', key='customer_id', format='arvo') }}
select c.customer_id, c.cents, r.label
from {{ ref('clean_orders') }} as c
left join {{ ref('regions') }} as r on c.region = r.region
