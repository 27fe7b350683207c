{{ config(materialized='sink', topic='shop.out') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
