{{ config(materialized='sink', topic='__consumer_offsets') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
