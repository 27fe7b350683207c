{{ config(materialized='sink') }}
select id from {{ source('web', 'clicks') }}
