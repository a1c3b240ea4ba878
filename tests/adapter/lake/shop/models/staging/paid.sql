{{ config(materialized='ephemeral') }}
select * from {{ ref('stg_orders') }} where amount is not null
