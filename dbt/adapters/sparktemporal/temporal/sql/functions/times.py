"""Functions of instants, dates, and numbers that stand for them."""

from __future__ import annotations

from .row import DAY, SECOND, Function, Local, Makes, Raises, Takes

#: units that are as long at any time in a zone of one offset; Spark counts days and weeks by the zone's calendar
_FIXED = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DAYOFYEAR", "WEEK")
#: the parts of an interval, in the order in which functions take them
_PARTS = ("year", "month", "week", "day", "hour", "minute", "second")
#: the fields of a date that only rise: the year, by each of its names, and the year of the week
_YEARS = ("YEAR", "Y", "YEARS", "YR", "YRS", "YEAROFWEEK")

# fmt: off
ROWS = (
    # the same instant, as another type
    Function("timestamp", 1, type="timestamp", increasing=0, at_ends=True, moves=(0, 0)),
    Function("to_timestamp", 1, type="timestamp", increasing=0, moves=(0, 0), local_name="to_timestamp_ntz"),
    Function("to_timestamp_ltz", 1, type="timestamp", increasing=0, moves=(0, 0)),
    Function("timestamp_ntz", 1, parsed_as="Cast", type="timestamp_ntz", increasing=0, local=Local.TIME, moves=(0, 0)),
    Function("to_timestamp_ntz", 1, type="timestamp_ntz", increasing=0, local=Local.TIME, moves=(0, 0)),

    # the date of an instant, and other dates
    Function("date", 1, type="date", increasing=0, local=Local.DATE, at_ends=True, moves=(-DAY, 0)),
    Function("to_date", 1, type="date", increasing=0, local=Local.DATE, at_ends=True, moves=(-DAY, 0)),
    Function("last_day", 1, type="date", increasing=0, local=Local.DATE, at_ends=True, moves=(-DAY, 31 * DAY)),
    Function("next_day", 2, type="date", increasing=0, local=Local.DATE, moves=(0, 7 * DAY), raises=Raises.WORDS),
    Function("date_add", 2, type="date", increasing=0, local=Local.DATE, at_ends=True, moves=(-DAY, 0), amount=1,
             of="day"),
    Function("dateadd", 2, type="date", increasing=0, local=Local.DATE, at_ends=True, moves=(-DAY, 0), amount=1,
             of="day"),
    Function("date_sub", 2, type="date", increasing=0, local=Local.DATE, at_ends=True, moves=(-DAY, 0), amount=1,
             of="day", sign=-1),
    Function("add_months", 2, type="date", increasing=0, local=Local.DATE, moves=(-DAY, 0), amount=1, of="month",
             raises=Raises.RANGE),
    Function("trunc", 2, type="date", increasing=0, local=Local.DATE, moves=(-DAY, 0), unit=1),

    # intervals
    *(Function("make_interval", n, counts=_PARTS) for n in range(8)),
    *(Function("make_dt_interval", n, counts=_PARTS[3:]) for n in range(5)),
    *(Function("make_ym_interval", n, counts=_PARTS[:2]) for n in range(3)),

    # moved by a unit
    Function("date_trunc", 2, type="timestamp", increasing=1, local=Local.UNIT, at_ends=True, moves=(0, 0), unit=0),
    *(
        Function(name, 3, increasing=2, local=Local.TIME, moves=(0, 0), unit=0, units=_FIXED, keyword=True, amount=1,
                 raises=Raises.RANGE)
        for name in ("timestampadd", "dateadd", "date_add")
    ),
    *(
        # the slack is of months, quarters and years that count from the argument `decreasing` on: see `near`
        Function(name, 3, type="bigint", increasing=2, decreasing=1, local=Local.TIME, slack=3 * DAY, unit=0,
                 keyword=True)
        for name in ("timestampdiff", "datediff", "date_diff")
    ),
    Function("datediff", 2, type="int", increasing=0, decreasing=1, local=Local.DATE),
    Function("date_diff", 2, type="int", increasing=0, decreasing=1, local=Local.DATE),
    Function("months_between", 2, type="double", increasing=0, decreasing=1, local=Local.TIME, slack=3 * DAY),
    # local time is 18 hours before or after UTC at most
    *(
        Function(name, 2, type="timestamp", increasing=0, local=Local.ZONE, moves=(-2 * DAY, 2 * DAY), zone=1,
                 raises=Raises.WORDS)
        for name in ("to_utc_timestamp", "from_utc_timestamp")
    ),
    Function("convert_timezone", 2, type="timestamp_ntz", increasing=1, local=Local.ZONE, zone=0, raises=Raises.WORDS),
    Function("convert_timezone", 3, type="timestamp_ntz", increasing=2, local=Local.ZONE, zone=1, of_zone=0,
             raises=Raises.WORDS),

    # instant -> number
    Function("unix_micros", 1, type="bigint", increasing=0, at_ends=True, step=1, inverse="timestamp_micros"),
    Function("unix_millis", 1, type="bigint", increasing=0, at_ends=True, step=1_000, inverse="timestamp_millis"),
    Function("unix_seconds", 1, type="bigint", increasing=0, at_ends=True, step=SECOND, inverse="timestamp_seconds"),
    Function("unix_timestamp", 1, type="bigint", increasing=0, at_ends=True, step=SECOND, inverse="timestamp_seconds",
             towards_zero=True),
    Function("to_unix_timestamp", 1, type="bigint", increasing=0, step=SECOND, inverse="timestamp_seconds",
             towards_zero=True),
    Function("unix_date", 1, type="int", increasing=0, local=Local.DATE, at_ends=True),
    Function("year", 1, type="int", increasing=0, local=Local.DATE, at_ends=True, makes=Makes.FIELD, field="year"),
    Function("date_part", 2, type="int", increasing=1, local=Local.DATE, unit=0, units=_YEARS, makes=Makes.FIELD),
    Function("datepart", 2, type="int", increasing=1, local=Local.DATE, unit=0, units=_YEARS, makes=Makes.FIELD),
    Function("extract", 2, parsed_as="Extract", type="int", increasing=1, local=Local.DATE, unit=0, units=_YEARS,
             keyword=True, makes=Makes.FIELD),

    # fields of a date, and what is made of them
    *(
        Function(name, 1, makes=Makes.FIELD, field=field)
        for name, field in (("quarter", "quarter"), ("month", "month"), ("day", "day"), ("dayofmonth", "day"),
                            ("dayofyear", "doy"), ("weekofyear", "week"), ("hour", "hour"), ("minute", "minute"),
                            ("second", "second"))
    ),
    Function("date_format", 2, makes=Makes.FORMAT),
    *(Function("from_unixtime", n, makes=Makes.SECONDS) for n in (1, 2)),
    *(Function(name, 2, makes=Makes.PARSED) for name in ("to_date", "to_timestamp", "to_timestamp_ltz")),
    Function("make_date", 3, makes=Makes.DATE),
    *(Function(name, 6, makes=Makes.TIMESTAMP) for name in ("make_timestamp", "make_timestamp_ltz")),

    # number -> instant
    Function("timestamp_micros", 1, takes=Takes.INTEGER, type="timestamp", increasing=0, at_ends=True, farthest=10**17,
             step=1, inverse="unix_micros", raises=Raises.RANGE),
    Function("timestamp_millis", 1, takes=Takes.INTEGER, type="timestamp", increasing=0, at_ends=True, farthest=10**14,
             step=1_000, inverse="unix_millis", raises=Raises.RANGE),
    Function("timestamp_seconds", 1, takes=Takes.INTEGER, type="timestamp", increasing=0, at_ends=True, farthest=10**11,
             step=SECOND, inverse="unix_seconds", raises=Raises.RANGE),

    # numbers
    Function("ceil", 1, takes=Takes.NUMBER, increasing=0, at_ends=True),
    Function("ceiling", 1, takes=Takes.NUMBER, increasing=0, at_ends=True),
    Function("floor", 1, takes=Takes.NUMBER, increasing=0, at_ends=True),
    *(Function("round", n, takes=Takes.NUMBER, increasing=0) for n in (1, 2)),
    Function("abs", 1, takes=Takes.NUMBER, is_even=True),
    Function("bigint", 1, takes=Takes.ANY, type="bigint", increasing=0, raises=Raises.RANGE),
    # the cast of a whole number or a DECIMAL wraps around; a DOUBLE is cut towards zero, and stays within an INT
    Function("int", 1, takes=Takes.DOUBLE, type="int", increasing=0, raises=Raises.RANGE),
    Function("double", 1, takes=Takes.ANY, type="double", increasing=0),
)
# fmt: on
