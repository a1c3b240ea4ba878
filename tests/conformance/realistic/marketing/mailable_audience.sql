{{ config(materialized='temporal_view') }}

-- who may get a mail now: agreed, not unsubscribed, and none in the last week
with contacts as (
    select contact_id, email, segment, consented_at, consent_ends_at
    from {{ source('raw', 'raw_contacts') }}
    where email is not null
),

recently_mailed as (
    select contact_id
    from {{ source('raw', 'raw_mails') }}
    where bounced = false
      and mz_now() >= sent_at
      and mz_now() < sent_at + interval 7 days
),

unsubscribed as (
    select distinct contact_id
    from {{ source('raw', 'raw_mails') }}
    where unsubscribed
)

select contacts.contact_id, contacts.email, contacts.segment
from contacts
left anti join unsubscribed on unsubscribed.contact_id = contacts.contact_id
where mz_now() >= contacts.consented_at
  and mz_now() < coalesce(contacts.consent_ends_at, contacts.consented_at + interval 2 years)
  and not exists (
    select 1 from recently_mailed where recently_mailed.contact_id = contacts.contact_id
  )
