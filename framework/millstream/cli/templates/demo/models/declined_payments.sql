-- A topic that joins two streams: the orders whose payment was declined within a minute.
{{ config(materialized='sink', key='order_id') }}

select
  orders.order_id,
  orders.customer_id,
  orders.amount,
  payments.method,
  payments.paid_at as declined_at
from {{ ref('stg_orders') }} as orders
join {{ source('cafe', 'payments') }} as payments
  on payments.order_id = orders.order_id
  and payments.paid_at between orders.ordered_at - interval 1 minute and orders.ordered_at + interval 1 minute
where payments.status = 'declined'
