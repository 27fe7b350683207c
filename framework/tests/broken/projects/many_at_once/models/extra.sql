select {{ nothing }}, {{ var('unset') }} from {{ source('app', 'orderz') }}
