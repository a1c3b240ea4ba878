select faa, name, tzone from {{ target.schema }}.raw_airports
