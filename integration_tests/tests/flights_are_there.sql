-- all tests pass on views over nothing: five weeks of New York are about 34,000 flights
select count(*) as flights from {{ ref('flights') }} having count(*) < 30000
