{{ config(materialized='table', unique_key='user_id') }}

select
  counts.*,
  {{ safe_divide('counts.total_score', 'counts.total_count', digits=2) }} as avg_score
from {{ ref('user_activity_counts') }} as counts
