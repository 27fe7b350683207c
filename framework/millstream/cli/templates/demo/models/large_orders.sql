-- A topic with a record for each large order, as soon as it is there.
{{ config(materialized='sink', key='order_id') }}

select order_id, customer_id, quantity, drink, amount, ordered_at
from {{ ref('stg_orders') }}
where amount >= 10
