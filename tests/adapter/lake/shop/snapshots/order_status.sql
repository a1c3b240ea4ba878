{% snapshot order_status %}
{{ config(target_schema=target.schema, unique_key='id', strategy='check', check_cols=['status']) }}
select id, status from {{ ref('orders') }}
{% endsnapshot %}
