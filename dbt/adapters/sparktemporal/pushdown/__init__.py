"""What need not be read: predicates for Spark, from the range the clock can take. No dbt, no connection."""
