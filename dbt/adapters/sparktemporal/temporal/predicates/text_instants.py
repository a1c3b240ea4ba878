"""Text beside the clock: `mz_now() >= '2024-03-10 07:30:00'`.

Spark casts the text to a TIMESTAMP, in the session's zone. Lists outside of ANSI mode are the exception: there Spark
casts the clock to text.

| in a list | holds |
|---|---|
| `mz_now() in ('2024-03-10')` | never |
| `mz_now() in ('2024-03-10 00:00:00')` | for one millisecond |
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from ...errors import Refusal
from ..sql.text.dialect import fragment, string_literal, suggested

#: a key in the meta of the casts of `as_instant`. Its value is the text in the cast
TEXT = "text_instant"

#: text that begins with a date. Spark adds the day of its own clock to a bare time, and knows words such as `today`
_DATED = re.compile(r"\s*[+-]?\d{4,7}\s*(-|$)")
_NUMBER = re.compile(r"\s*[+-]?\d+(\.\d*)?\s*")
_EXAMPLE = "'2024-03-01 12:00:00', in the session's zone, or with one of its own: '2024-03-01 12:00:00 Europe/Berlin'"


def as_instant(node: exp.Expr, written: str) -> exp.Expr:
    """The other side of a comparison with the bare clock, as an instant.

    Text gets a cast, and so does text moved by intervals. Raises Refusal for text that does not begin with a date. Any
    other expression stays.
    """
    literal = _text(node)
    if literal is None:
        return node.copy()
    if not _DATED.match(literal.name):
        raise no_instant(literal.name, written)
    cast = exp.cast(node.copy(), exp.DType.TIMESTAMPLTZ)
    cast.meta[TEXT] = literal.name
    return cast


def refuse_words(node: exp.Expr, written: str) -> None:
    """Refuse text beside a function of the clock when it is neither a date nor a number."""
    literal = _text(node)
    if literal is not None and not _DATED.match(literal.name) and not _NUMBER.fullmatch(literal.name):
        raise no_instant(literal.name, written)


def no_instant(text: str, written: str) -> Refusal:
    number = "; for milliseconds the number without quotes" if _NUMBER.fullmatch(text) else ""
    return Refusal(
        "ST325",
        written,
        f"{string_literal(text)} is no instant: Spark makes NULL of it, or its own clock, so the comparison would not "
        "be what it looks like",
        _EXAMPLE + number,
    )


def refuse_lists(
    predicate: exp.Expr, is_text: Callable[[exp.Expr], bool], is_instant: Callable[[exp.Expr], bool]
) -> None:
    """Refuse a list with an instant of the clock and a text. In a zone with daylight saving a text may be two instants.

    is_text: whether a part is a text. is_instant: whether a part is an instant of the clock.
    """

    def shown(member: exp.Expr) -> str:
        if not is_text(member):
            return suggested(member)
        return f"timestamp {suggested(member)}" if member.is_string else f"CAST({suggested(member)} AS TIMESTAMP)"

    for node in predicate.find_all(exp.In):
        members = [node.this.unnest(), *(item.unnest() for item in node.expressions)]
        if any(map(is_instant, members)) and any(map(is_text, members)):
            one, *items = map(shown, members)
            raise Refusal(
                "ST326",
                fragment(node),
                "in a list Spark compares the clock as text, which in this zone is the same an hour later when "
                "daylight saving ends",
                f"{one} IN ({', '.join(items)})",
            )


def has_text(items: list[exp.Expr]) -> bool:
    return any(_text(item) is not None for item in items)


def texts(node: exp.Expr) -> list[str]:
    """The texts that `as_instant` has put a cast around."""
    return [cast.meta[TEXT] for cast in node.find_all(exp.Cast) if TEXT in cast.meta]


def _text(node: exp.Expr) -> exp.Literal | None:
    node = node.unnest()
    while isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.right.unnest(), exp.Interval):
        node = node.left.unnest()
    return node if isinstance(node, exp.Literal) and node.is_string else None
