{{ config(materialized='sink', key='customer') }}
select e.customer_id, e.amount
from {{ source('app', 'orders') }} as e
