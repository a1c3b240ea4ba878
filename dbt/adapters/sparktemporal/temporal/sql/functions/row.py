"""The shape of a row of the registry: what is known of one function of Spark.

    Function("unix_millis", 1, takes=INSTANT, type="bigint", increasing=0, step=1_000, inverse="timestamp_millis")

A field that is left out means: nothing is known, so nothing is concluded. A wrong field is a wrong answer.
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
    ANY = "whatever can be cast"


class Local(Enum):
    """What of the local time of an instant decides a value. Local time goes back when daylight saving ends."""

    NOTHING = "nothing: the instant alone"
    DATE = "the local date"
    UNIT = "local time, cut to the unit that is named"
    TIME = "local time"


class Raises(Enum):
    """When a function of arguments of the right types is an error (under ANSI rules or without)."""

    NEVER = "never"
    RANGE = "when the result is beyond what its type holds"
    WORDS = "when an argument is a word that is not known"


class Picks(Enum):
    """Which of its arguments a function gives."""

    FIRST = "the first that is not NULL"
    FIRST_UNLESS = "the first, or NULL"
    GREATEST = "the greatest, NULLs left out"
    LEAST = "the least, NULLs left out"


class Aggregate(Enum):
    """What of the rows of a group decides an aggregate."""

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

    Indexes count arguments from 0. Lengths of time are whole microseconds.

    name: in lower case, as SHOW SYSTEM FUNCTIONS has it. arguments: how many the calls of this row have, None for all
    calls without a row of their own. parsed_as: the class of sqlglot that a tree has for it, "" for `exp.Anonymous`;
    CAST for a type of which there is no function. A cast to any other type is the function of that name.

    Monotone
        increasing, decreasing: the argument with which the value never falls, or never rises, while the others stay
        the same. takes: the type of that argument. type: the type of the value, "" where the arguments decide it.
        local: what of local time decides; "never falls" is said of a zone without changes of its offset, where it is
        not NOTHING. at_ends: f([a, b]) = [f(a), f(b)], so that Spark may compute f of the ends of a file's values; not
        where settings decide the type of the value. farthest: … for numbers from -farthest to farthest only.

    How it moves an instant
        moves: the least and the most that is between the argument and the value, None where nothing is known;
        `unit` and `amount` add to it. unit: the argument that names a unit; without an amount, up to one unit is taken
        off. units: the units with which the row holds, () for all. keyword: the unit is a word such as DAY, which looks
        like a column. zone: the argument that names a time zone; it has to be a constant. amount: the argument that
        says how many units are added; of: which unit, where no argument names one. sign: -1 where they are taken off.

    Instants as numbers
        step: how much time one more in the number is. inverse: the function that makes an instant of the number, or a
        number of the instant. towards_zero: the number is rounded towards zero; else it is rounded down.

    Errors
        raises: when it is an error.

    Other things that decide
        depends_on: CLOCK, CHANCE, PLACE, CODE, FILES or SESSION. unless: … but for calls with this word as an argument.
        clock: SQL that is read in its place in a temporal view. bare: SQL has it without parentheses too.

    Rows
        aggregate: what of a group decides its value; None for no aggregate. generates: it stands for any number of
        rows and columns. window: the windows it makes. picks: which of its arguments it gives.

    Texts
        makes_text: it makes a text of texts, which may spell a word that Spark's casts read as a clock. local_name:
        what it is called in a session where TIMESTAMP is TIMESTAMP_NTZ.
    """

    name: str
    arguments: int | None = None
    parsed_as: str = ""
    takes: Takes = Takes.INSTANT
    type: str = ""
    increasing: int | None = None
    decreasing: int | None = None
    local: Local = Local.NOTHING
    at_ends: bool = False
    farthest: int | None = None
    moves: tuple[int, int] | None = None
    unit: int | None = None
    units: tuple[str, ...] = ()
    keyword: bool = False
    zone: int | None = None
    amount: int | None = None
    of: str = ""
    sign: int = 1
    step: int | None = None
    inverse: str = ""
    towards_zero: bool = False
    raises: Raises = Raises.NEVER
    depends_on: str = ""
    unless: str = ""
    clock: str = ""
    bare: bool = False
    aggregate: Aggregate | None = None
    generates: bool = False
    window: Window | None = None
    picks: Picks | None = None
    makes_text: bool = False
    local_name: str = ""

    @property
    def is_monotone(self) -> bool:
        return self.increasing is not None or self.decreasing is not None

    @property
    def moved(self) -> int:
        """The argument that the value follows."""
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
        """Whether it gives another value over the same rows. A clock that mz_now() can stand for has been replaced."""
        return self.depends_on in (CHANCE, PLACE, CODE, CLOCK)
