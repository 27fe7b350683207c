{{ config(materialized='sink', topic=var('target', 'users')) }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
