"""Types that `explain` gives by itself: checked without Spark, and by Spark."""

#: of the relation shop.orders
ORDERS = {"id": "bigint", "customer": "int", "amount": "decimal(10,2)", "ts": "timestamp", "k": "string"}
#: expression over these columns -> Spark's type
KNOWN = {
    "id": "bigint", "ts + interval 1 day": "timestamp", "ts - interval '1' month": "timestamp", "count(*)": "bigint",
    "sum(customer)": "bigint", "sum(amount)": "decimal(20,2)", "avg(amount)": "decimal(14,6)", "avg(id)": "double",
    "max(ts)": "timestamp", "id > 1": "boolean", "not k = 'a'": "boolean", "cast(k as date)": "date",
    "upper(k)": "string", "date_trunc('DAY', ts)": "timestamp", "-7": "int", "3000000000": "bigint",
    "1.50": "decimal(3,2)", "'a'": "string", "1e3": "double", "interval 1 month": "interval month",
    "interval 2 weeks": "interval day", "interval '1-2' year to month": "interval year to month",
    "interval 3 hours": "interval hour", "interval '1 02' day to hour": "interval day to hour",
}  # fmt: skip
#: of which only Spark knows the type
UNKNOWN = ("ts - ts", "coalesce(customer, 0)", "id / 2", "amount + 1", "interval 1 month 2 days", "null")
