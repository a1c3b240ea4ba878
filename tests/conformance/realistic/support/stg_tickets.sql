{{ config(materialized='view') }}

with source as (

    select * from {{ source('raw', 'raw_tickets') }}

), renamed as (

    select
        id as ticket_id,
        requester,
        nullif(assignee, '') as agent_id,
        coalesce(lower(priority), 'normal') as priority,
        status,
        created_at,
        solved_at,
        snoozed_until,
        from_json(custom_fields, 'tier string, tags array<string>') as fields
    from source

)

select * from renamed
