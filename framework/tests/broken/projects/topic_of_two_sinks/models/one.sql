{{ config(materialized='sink', topic='out') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
