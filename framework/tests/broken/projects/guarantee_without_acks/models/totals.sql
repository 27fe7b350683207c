{{ config(materialized='sink', guarantee='exactly_once', producer={'acks': 1}) }}
select l.customer_id, count(*) as orders, sum(l.cents) as cents
from {{ ref('labelled') }} as l
group by l.customer_id
