{{ config(materialized='sink', headers={'millstream.position': "'x'"}) }}
select o.order_id, o.amount from {{ source('app', 'orders') }} as o
