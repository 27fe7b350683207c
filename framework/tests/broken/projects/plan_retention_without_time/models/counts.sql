{{ config(materialized='table', unique_key='customer_id', order_by='ts', retention='30 days') }}
select e.customer_id, e.ts
from {{ source('app', 'orders') }} as e
