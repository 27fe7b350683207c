-- Orders with the price and the category of the drink; a view is computed once for all that read it.
select
  orders.order_id,
  orders.customer_id,
  orders.drink,
  drinks.category,
  orders.quantity,
  cast(orders.quantity * drinks.price_cents / 100.0 as decimal(12, 2)) as amount,
  orders.ordered_at
from {{ source('cafe', 'orders') }} as orders
join {{ ref('drinks') }} as drinks on orders.drink = drinks.drink
