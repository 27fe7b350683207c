{{ config(materialized='sink', topic='web.clicks') }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
