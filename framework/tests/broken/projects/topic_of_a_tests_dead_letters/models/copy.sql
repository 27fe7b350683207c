{{ config(materialized='sink', topic='totals.dead_letter') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
