{{ config(materialized='table', unique_key='customer_id', order_by='lsn', delete_when='deleted') }}

select customer_id, name, city, deleted, lsn, changed_at
from {{ ref('stg_customer_changes') }}
