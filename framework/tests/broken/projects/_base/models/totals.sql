{{ config(materialized='table', unique_key='customer_id', unbounded_state='accept') }}
select l.customer_id, count(*) as orders, sum(l.cents) as cents
from {{ ref('labelled') }} as l
group by l.customer_id
