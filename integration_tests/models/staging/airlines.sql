select carrier, name from {{ target.schema }}.raw_airlines
