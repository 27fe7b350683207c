{{ config(materialized='table', unique_key='customer_id') }}

select customer_id, name, city
from {{ source('inventory', 'customers') }}
