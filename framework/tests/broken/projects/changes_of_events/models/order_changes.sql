{{ config(materialized='sink', key='order_id', emit='changes') }}
select o.order_id, o.amount
from {{ source('app', 'orders') }} as o
