{{ config(key='event_id') }}

select events.*
from {{ ref('stg_partner_events') }} as events
