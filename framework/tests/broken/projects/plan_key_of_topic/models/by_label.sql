{{ config(materialized='sink', key='label') }}
select l.label, l.customer_id, count(*) as n
from {{ ref('labelled') }} as l
group by l.label, l.customer_id
