-- A rate is known exactly where there is something to divide by.
select
  metrics.user_id,
  metrics.window_start
from {{ ref('hourly_user_metrics') }} as metrics
where (metrics.click_through_rate is null) = (metrics.view_count > 0)
  or (metrics.conversion_rate is null) = (metrics.click_count > 0)
