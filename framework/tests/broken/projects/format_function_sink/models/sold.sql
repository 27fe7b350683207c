{{ config(materialized='sink', format='python:encode_order') }}
select coalesce(o.order_id, 0) as order_id, coalesce(o.amount, 0D) as amount, coalesce(o.country, '') as country,
  'DK' as land
from {{ source('app', 'orders') }} as o
