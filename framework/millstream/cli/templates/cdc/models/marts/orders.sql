{{ config(materialized='table', unique_key='order_id', order_by='lsn', delete_when='deleted') }}

select order_id, customer_id, status, amount, deleted, lsn, changed_at
from {{ ref('stg_order_changes') }}
