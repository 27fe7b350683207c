{{ config(materialized='table', unique_key='order_id') }}

select order_id, customer_id, status, amount, changed_at
from {{ source('inventory', 'orders') }}
