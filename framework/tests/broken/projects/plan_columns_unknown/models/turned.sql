select * from (select customer_id, country, amount from {{ source('app', 'orders') }})
pivot (sum(amount) for country in ('DE', 'FR'))
