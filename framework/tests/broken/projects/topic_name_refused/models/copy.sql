{{ config(materialized='sink', topic='my topic') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
