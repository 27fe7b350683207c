{{ config(materialized='sink', topic='_millstream.shop.copy') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
