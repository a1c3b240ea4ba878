"""Functions that give one of their arguments, windows of time, generators, and texts made of texts."""

from __future__ import annotations

from .row import Function, Picks, Window

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
        for name in ("lower", "upper", "ltrim", "rtrim", "btrim", "concat", "concat_ws", "substr", "replace", "reverse")
    ),
    Function("trim", parsed_as="Trim", makes_text=True),
    Function("substring", parsed_as="Substring", makes_text=True),
)
# fmt: on
