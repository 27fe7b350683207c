-- Cleaned orders with the drink's category; amounts are in units of the currency instead of cents.
select
  orders.order_id,
  nullif(trim(orders.customer_id), '') as customer_id,
  orders.drink,
  coalesce(drinks.category, 'other') as category,
  orders.quantity,
  {{ cents_to_money('orders.price_cents * orders.quantity') }} as amount,
  '{{ var("currency") }}' as currency,
  orders.ordered_at
from {{ source('cafe', 'orders') }} as orders
left join {{ ref('drinks') }} as drinks on orders.drink = drinks.drink
where orders.quantity > 0
