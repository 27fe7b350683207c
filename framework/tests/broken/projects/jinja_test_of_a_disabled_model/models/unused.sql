{{ config(enabled=false) }} select * from {{ ref('clean_orders') }}
