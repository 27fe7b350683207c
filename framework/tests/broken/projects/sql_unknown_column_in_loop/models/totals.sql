{{ config(materialized='table', unique_key='customer_id') }}
select l.customer_id, count(*) as orders, count(*) as cents
from {{ ref('labelled') }} as l
group by l.customer_id
