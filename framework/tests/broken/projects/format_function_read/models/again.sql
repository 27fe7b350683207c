{{ config(materialized='sink') }}
select order_id from {{ ref('sold') }}
