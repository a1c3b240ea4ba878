"""Functions that pick one of their arguments, make windows of time, generate rows, or make texts of texts."""

from __future__ import annotations

from .row import Function, Makes, Picks, Window

# fmt: off
ROWS = (
    Function("coalesce", picks=Picks.FIRST),
    Function("nvl", picks=Picks.FIRST),
    Function("ifnull", picks=Picks.FIRST),
    Function("nullif", 2, picks=Picks.FIRST_UNLESS),
    Function("greatest", picks=Picks.GREATEST),
    Function("least", picks=Picks.LEAST),

    Function("window", window=Window.SLIDING),
    Function("window", 1, window=Window.FIXED),
    Function("window", 2, window=Window.FIXED),
    Function("session_window", window=Window.SESSION),

    *(
        Function(name, generates=True)
        for name in ("explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode",
                     "posexplode_outer", "stack")
    ),

    *(
        Function(name, makes_text=True)
        for name in ("lower", "upper", "ltrim", "rtrim", "btrim", "concat_ws", "reverse")
    ),
    Function("concat", makes_text=True, makes=Makes.JOINED),
    Function("substr", makes_text=True, makes=Makes.CUT),
    Function("left", makes=Makes.BEGINNING),
    Function("lpad", makes=Makes.PADDED),
    Function("replace", makes_text=True, makes=Makes.REPLACED),
    Function("regexp_replace", makes=Makes.REPLACED),
    Function("struct", makes=Makes.STRUCT),
    Function("trim", parsed_as="Trim", makes_text=True),
    Function("substring", parsed_as="Substring", makes_text=True, makes=Makes.CUT),
)
# fmt: on

#: functions that Spark replaces by comparisons of their arguments
COMPARING = frozenset(("decode", "equal_null", "nullif"))
