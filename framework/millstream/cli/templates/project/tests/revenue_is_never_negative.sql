-- A data test: the rows that it returns are wrong.
select
  revenue.revenue_key,
  revenue.revenue
from {{ ref('revenue_per_hour') }} as revenue
where revenue.revenue < 0
