select * from (select customer_id, amount, amount * 2 as twice from {{ source('app', 'orders') }})
unpivot (value for name in (amount, twice))
