{{ config(tags=5) }}
select amount from {{ source('app', 'orders') }} where amount is null
