{{ config(materialized='table', unique_key='user_id') }}

select totals.*
from {{ ref('user_activity_totals') }} as totals
