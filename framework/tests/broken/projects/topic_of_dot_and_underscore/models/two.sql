{{ config(materialized='sink', topic='shop_out') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
