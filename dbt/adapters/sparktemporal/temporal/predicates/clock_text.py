"""Put an instant, or a mark for one, in the place of each mz_now(), in the text or the tree of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from ..sql.names.parsed_model import ParsedModel
from ..sql.spark.timestamps import as_written
from ..sql.text.dialect import expression, has_clock, is_mz_now, mz_now_spans, render
from ..sql.text.splices import spliced
from .bounds import BIGINT, TIMESTAMP
from .shifts import is_local


def clock_literal(kind: str, instant: str) -> str:
    """SQL of an instant in place of mz_now(): a TIMESTAMP or a BIGINT, by `kind`. instant: SQL of a BIGINT (ms)."""
    return f"timestamp_millis({instant})" if kind == TIMESTAMP else f"({instant})"


def written_at(sql: str, kinds: Sequence[str], instant: str) -> str:
    """The text of a model with an instant in the place of each mz_now(). The rest of the text stays as it is.

    >>> written_at("select a from t where mz_now() < ts", ["timestamp"], "5L")
    'select a from t where timestamp_millis(5L) < ts'
    """
    calls = zip(mz_now_spans(sql), kinds, strict=True)
    return spliced(sql, ((start, end, clock_literal(kind, instant)) for (start, end), kind in calls))


def printed_at(model: ParsedModel, kinds: Sequence[str], instant: str, local_timestamps: bool = False) -> str:
    """The text of `written_at`, printed from the tree, for `same_query.check`. local_timestamps: see `timestamps`."""
    starts = {start: kind for (start, _), kind in zip(mz_now_spans(model.text), kinds, strict=True)}

    def replaced(call: exp.Expr) -> exp.Expr:
        # the instant stands as it is in the text: only what the user wrote can differ
        literal = expression(clock_literal(starts[call.meta["start"]], "mz_instant"))
        return literal.transform(lambda n: exp.Var(this=instant) if isinstance(n, exp.Column) else n)

    tree = as_written(model.copied()) if local_timestamps else model.copied()
    return render(tree.transform(lambda n: replaced(n) if is_mz_now(n) else n))


def evaluated(node: exp.Expr, calls: Mapping[int, str], instant: str) -> str:
    """SQL of an expression over the row with an instant as the clock. calls: the offset of each call -> its kind.

    Where a local time of the clock stands beside a constant, Spark's optimizer compares instants, though a constant
    clock is compared as local time. The two differ in an hour that local time repeats. A sum stays as it is.
    """
    text = "mz_instant_"

    def replaced(n: exp.Expr) -> exp.Expr:
        return exp.to_identifier(text + calls[n.meta["start"]]) if is_mz_now(n) else n

    tree = exp.paren(node.copy())
    for local in reversed([n for n in tree.walk() if is_local(n) and has_clock(n)]):
        local.replace(exp.paren(exp.Add(this=local.copy(), expression=expression("INTERVAL '0' SECOND"))))
    sql = render(tree.this.transform(replaced))
    for kind in dict.fromkeys(calls.values()):
        sql = sql.replace(text + kind, clock_literal(kind, instant))
    return sql


_AT_READ = {TIMESTAMP: "mz_now_timestamp", BIGINT: "mz_now_bigint"}


def with_marks(residual: exp.Expr, calls: Mapping[int, str]) -> exp.Expr:
    """A residual with each mz_now() replaced by a mark that names its kind. The state keeps the residual as text.

    calls: the offset of each call -> its kind.
    """
    return residual.transform(
        lambda n: exp.Anonymous(this=_AT_READ[calls[n.meta["start"]]], expressions=[]) if is_mz_now(n) else n
    )


def at_instant(residual: exp.Expr, instant: str) -> exp.Expr:
    """A marked residual with an instant in the place of each mark. instant: SQL of a BIGINT (ms)."""
    return with_clock(residual, lambda kind: expression(clock_literal(kind, instant)))


def with_clock(residual: exp.Expr, clock: Callable[[str], exp.Expr]) -> exp.Expr:
    """A marked residual with an expression in the place of each mark. clock: gives the expression of a kind."""
    return residual.transform(lambda node: node if (kind := clock_mark(node)) is None else clock(kind))


def reads_clock(residual: exp.Expr) -> bool:
    """Whether a marked residual reads the clock."""
    return any(clock_mark(node) is not None for node in residual.find_all(exp.Anonymous))


def clock_mark(node: exp.Expr) -> str | None:
    """The kind of a mark of the clock in a residual; None for any other node."""
    kinds = {mark: kind for kind, mark in _AT_READ.items()}
    return kinds.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
