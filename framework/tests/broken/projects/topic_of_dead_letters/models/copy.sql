{{ config(materialized='sink', topic='clicks.dead_letter') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
