{{ config(materialized='sink', key='customer_id', emit='changes', format='avro') }}
select t.customer_id, t.orders
from {{ ref('totals') }} as t
