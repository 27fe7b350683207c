{{ config(materialized='table', unique_key='customer_id') }}
select l.customer_id, l.label, count(*) as orders, sum(l.cents) as cents
from {{ ref('labelled') }} as l
group by l.customer_id
