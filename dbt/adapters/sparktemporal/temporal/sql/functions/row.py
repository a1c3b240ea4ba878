"""The shape of a row of the registry: the known facts about one function of Spark.

    Function("unix_millis", 1, type="bigint", increasing=0, at_ends=True, step=1_000, inverse="timestamp_millis")

A field that is left out means: nothing is known, so nothing is concluded. Without `raises` and `depends_on`, however,
there is no such error and no such dependence. A wrong field is a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SECOND = 1_000_000
DAY = 86_400 * SECOND

#: what decides the value of a function besides its arguments, in words of messages
CLOCK, CHANCE, PLACE, CODE, FILES, SESSION = "a clock", "chance", "place", "other code", "files", "the session"
#: the class of sqlglot for casts
CAST = "Cast"


class Takes(Enum):
    """The type of the argument that a function is monotone in."""

    INSTANT = "a TIMESTAMP or a DATE"
    INTEGER = "a whole number"
    NUMBER = "a number"
    DOUBLE = "a DOUBLE"
    ANY = "whatever can be cast"


class Local(Enum):
    """The part of an instant's local time that decides a value. Local time goes back when daylight saving ends."""

    NOTHING = "nothing: the instant alone"
    DATE = "the local date"
    UNIT = "local time, cut to the unit that is named"
    TIME = "local time"
    ZONE = "local time in the zone that is named"


class Raises(Enum):
    """When a function raises an error for arguments of the right types (with or without ANSI rules)."""

    NEVER = "never"
    RANGE = "when the result is beyond what its type holds"
    WORDS = "when an argument is a word that is not known"


class Picks(Enum):
    """Which of its arguments a function gives."""

    FIRST = "the first that is not NULL"
    FIRST_UNLESS = "the first, or NULL"
    GREATEST = "the greatest, NULLs left out"
    LEAST = "the least, NULLs left out"


class Makes(Enum):
    """How a function makes a text, a number or a date of the fields of an instant."""

    FIELD = "one field of the instant: see `field`, or the unit that is named"
    FORMAT = "a text of an instant, by a pattern"
    SECONDS = "a text of seconds since 1970, by a pattern"
    DATE = "a date of year, month and day"
    TIMESTAMP = "an instant of year, month, day, hour, minute and second"
    PARSED = "a date or an instant of a text, by a pattern"
    JOINED = "one text of several"
    CUT = "a piece of a text, from a place, so long"
    BEGINNING = "the first characters of a text"
    PADDED = "a text of so many characters at least"
    REPLACED = "a text with one piece in the place of another"
    STRUCT = "a value of several, ordered by the first that differs"


class Aggregate(Enum):
    """The part of a group's rows that decides an aggregate."""

    COUNT = "how many there are"
    COUNT_IF = "how many are TRUE"
    SUM = "their sum"
    MEAN = "their sum and how many there are"
    ANY = "whether one is TRUE"
    ALL = "whether all are TRUE"
    VALUES = "which values there are"
    GROUPING = "nothing: which keys the group has"
    ROWS = "the rows themselves"


class Window(Enum):
    """The windows of time that a function makes."""

    FIXED = "one for a row"
    SLIDING = "several for a row"
    SESSION = "one, of all rows that are near each other"


@dataclass(frozen=True)
class Function:
    """One function, or one of its forms: calls with another number of arguments have a row of their own.

    Arguments are counted from 0. Lengths of time are whole microseconds.
    """

    #: in lower case, as SHOW SYSTEM FUNCTIONS has the name
    name: str
    #: the number of arguments; None for all calls without a row of their own
    arguments: int | None = None
    #: the class of the call in a tree of sqlglot, "" for `exp.Anonymous`. CAST for a type that is no function; a cast
    #: to any other type is the function of the type's name
    parsed_as: str = ""

    # -- monotone --

    #: the type of the argument `increasing` or `decreasing`
    takes: Takes = Takes.INSTANT
    #: the type of the value, "" where the arguments decide the type
    type: str = ""
    #: the argument with which the value never falls, while the other arguments stay the same
    increasing: int | None = None
    #: the argument with which the value never rises
    decreasing: int | None = None
    #: the part of local time that decides the value. Unless NOTHING, `increasing` holds in zones with one offset only
    local: Local = Local.NOTHING
    #: a later argument may have a smaller value, unless the argument is later by this length (µs) or more
    slack: int = 0
    #: whether f(-x) is f(x), and rises with x from 0 on
    is_even: bool = False
    #: whether f([a, b]) = [f(a), f(b)], so that Spark may compute f of the ends of a file's values. False where
    #: settings decide the type of the value
    at_ends: bool = False
    #: `increasing` holds for numbers from -farthest to farthest only
    farthest: int | None = None

    # -- how the function moves an instant --

    #: the least and the most distance from the argument to the value, without `unit` and `amount`; None where not known
    moves: tuple[int, int] | None = None
    #: the argument that names a unit. With `moves` and without `amount`, the function takes off up to one unit
    unit: int | None = None
    #: the units for which the row holds, () for all
    units: tuple[str, ...] = ()
    #: whether the unit is a word such as DAY, which looks like a column
    keyword: bool = False
    #: the argument that names a time zone, which must be a constant
    zone: int | None = None
    #: the argument that names the zone whose local time is converted; None for the session's, where that matters
    of_zone: int | None = None
    #: the argument with the number of units to add
    amount: int | None = None
    #: the unit to add, where no argument names one
    of: str = ""
    #: -1 where units are taken off
    sign: int = 1

    #: the unit that each argument counts, of a function that makes an interval
    counts: tuple[str, ...] = ()

    # -- instants as numbers --

    #: the time between two neighbouring numbers
    step: int | None = None
    #: the function that makes an instant of the number, or a number of the instant
    inverse: str = ""
    #: whether the number is rounded towards zero, not down
    towards_zero: bool = False

    # -- errors --

    raises: Raises = Raises.NEVER

    # -- other things that decide the value --

    #: CLOCK, CHANCE, PLACE, CODE, FILES or SESSION
    depends_on: str = ""
    #: a call with this word as its third or a later argument has no such dependence
    unless: str = ""
    #: the SQL that replaces the function in a temporal view
    clock: str = ""
    #: whether SQL has the function without parentheses too
    bare: bool = False

    # -- rows --

    #: the part of a group that decides the value; None for no aggregate
    aggregate: Aggregate | None = None
    #: whether the order of the rows may decide the value of an aggregate too, where several are equally right
    by_order: bool = False
    #: whether the function gives any number of rows and columns
    generates: bool = False
    window: Window | None = None
    #: the argument that the function gives
    picks: Picks | None = None

    # -- fields of an instant --

    makes: Makes | None = None
    #: the field of the instant that is given, where no argument names it
    field: str = ""

    # -- texts --

    #: whether the function makes a text of texts, which may spell a word that Spark's casts read as a clock
    makes_text: bool = False
    #: the name of the function in a session where TIMESTAMP is TIMESTAMP_NTZ
    local_name: str = ""

    @property
    def is_monotone(self) -> bool:
        return self.increasing is not None or self.decreasing is not None

    @property
    def moved(self) -> int:
        """The number of the argument that the value follows: `increasing`, or 0 where it is not known."""
        return self.increasing or 0

    @property
    def by_date(self) -> bool:
        """Whether an instant counts by its local date alone."""
        return self.type == "date" or self.local is Local.DATE

    @property
    def keeps_instants(self) -> bool:
        """Whether the value is the instant itself."""
        return self.type == "timestamp" and self.moves == (0, 0) and self.unit is None

    @property
    def truncates_to_date(self) -> bool:
        """Whether the value is the date of the instant."""
        return self.type == "date" and self.moves == (-DAY, 0) and self.unit is None and self.amount is None

    @property
    def is_nondeterministic(self) -> bool:
        """Whether the value may differ over the same rows. Clocks that mz_now() can replace have been replaced."""
        return self.depends_on in (CHANCE, PLACE, CODE, CLOCK)
