-- A data test: it fails if it returns rows.
select
  revenue.revenue_key,
  revenue.revenue
from {{ ref('revenue_per_hour') }} as revenue
where revenue.revenue < 0
