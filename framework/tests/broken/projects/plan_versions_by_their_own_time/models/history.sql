{{ config(materialized='table', unique_key='country', versions='all', order_by='valid_from') }}
select country, _timestamp as seen from {{ source('app', 'orders') }}
