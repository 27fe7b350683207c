{{ config(materialized='sink', format='debezium') }}
select o.order_id, o.amount
from {{ source('app', 'orders') }} as o
