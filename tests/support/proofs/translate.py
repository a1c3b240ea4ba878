"""SQL, as the product prints it, as a function of a row: over numbers, or over terms of z3.

An expression becomes a function from the columns in scope to a value. A query becomes a function from the row of its
innermost table to rows, each with the condition under which it is there. What is not known here is `Unproved`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.predicates.logic import both_bounds
from dbt.adapters.sparktemporal.temporal.sql.functions.calls import starts_with_unit
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, is_mz_now, parse, render

from . import functions
from .calendar import UTC, Rules
from .functions import FUNCTIONS, MONTHS, UNITS
from .values import NULL, Unproved, V, both, chosen, either, no, truth

Env = Mapping[str, V]
Compiled = Callable[[Env], V]
#: the function that is called in the place of a function of Spark
Instead = Mapping[str, Callable[..., V]]

_COMPARED = {exp.LT: "<", exp.LTE: "<=", exp.EQ: "=", exp.GT: ">", exp.GTE: ">="}
_SUMS = {exp.Add: functions.plus, exp.Sub: functions.minus, exp.Mul: functions.times, exp.Div: functions.over,
         exp.IntDiv: functions.whole, exp.Mod: functions.rest}  # fmt: skip


class Translation:
    """The meaning of SQL in a session's zone. now: the kind of mz_now(), which is the column `mz_now()`."""

    def __init__(self, zone: Rules = UTC, instead: Instead | None = None) -> None:
        self.zone, self.instead = zone, instead or {}

    # -- queries --

    def query(self, sql: str) -> Callable[[Env], list[tuple[Any, dict[str, V]]]]:
        return self._select(parse(sql))

    def _select(self, node: exp.Expr) -> Callable[[Env], list[tuple[Any, dict[str, V]]]]:
        if not isinstance(node, exp.Select):
            raise Unproved(render(node))
        unknown = {key for key, value in node.args.items() if value} - {"expressions", "from_", "laterals", "where"}
        if unknown:
            raise Unproved(f"{sorted(unknown)} of {render(node)[:80]}")
        source = node.args["from_"].this
        below = self._select(source.this) if isinstance(source, exp.Subquery) else lambda row: [(True, dict(row))]
        items = [(item.alias_or_name.lower(), self.compiled(item.unalias())) for item in node.expressions]
        where = self.compiled(node.args["where"].this) if node.args.get("where") else None
        laterals = [self._lateral(lateral) for lateral in node.args.get("laterals") or []]

        def rows(row: Env) -> list[tuple[Any, dict[str, V]]]:
            found = []
            for there, env in below(row):
                envs = [env]
                for lateral in laterals:
                    envs = [more for one in envs for more in lateral(one)]
                for one in envs:
                    here = there if where is None else both(there, truth(where(one)))
                    if here is not False:
                        found.append((here, {name: value(one) for name, value in items}))
            return found

        return rows

    def _lateral(self, node: exp.Lateral) -> Callable[[Env], list[dict[str, V]]]:
        call = node.this
        if call.name.lower() != "inline" or node.args.get("outer"):
            raise Unproved(render(node))
        given, names = (
            self.compiled(call.expressions[0]),
            [column.name.lower() for column in node.args["alias"].columns],
        )

        def rows(env: Env) -> list[dict[str, V]]:
            return [{**env, **dict(zip(names, item.x.values()))} for item in given(env).x]

        return rows

    # -- expressions --

    def expression(self, sql: str) -> Compiled:
        return self.compiled(expression(sql))

    def compiled(self, node: exp.Expr) -> Compiled:
        node = node.unnest()
        for kind in type(node).__mro__:
            made = _NODES.get(kind)
            if made is not None:
                return made(self, node)
        raise Unproved(f"{type(node).__name__}: {render(node)[:80]}")

    def _two(self, node: exp.Expr) -> tuple[Compiled, Compiled]:
        return self.compiled(node.args["this"]), self.compiled(node.args["expression"])

    def _comparison(self, node: exp.Expr) -> Compiled:
        (one, other), sign, zone = self._two(node), _COMPARED[type(node)], self.zone
        return lambda env: functions.compared(zone, sign, one(env), other(env))

    def _unequal(self, node: exp.Expr) -> Compiled:
        (one, other), zone = self._two(node), self.zone
        return lambda env: _not(functions.compared(zone, "=", one(env), other(env)))

    def _same(self, node: exp.Expr) -> Compiled:
        (one, other), zone, turned = self._two(node), self.zone, isinstance(node, exp.NullSafeNEQ)

        def found(env: Env) -> V:
            same = functions.same(zone, one(env), other(env))
            return _not(same) if turned else same

        return found

    def _sum(self, node: exp.Expr) -> Compiled:
        (one, other), made, zone = self._two(node), _SUMS[type(node)], self.zone
        return lambda env: made(zone, one(env), other(env))

    def _and(self, node: exp.Expr) -> Compiled:
        one, other = self._two(node)

        def found(env: Env) -> V:
            a = one(env)
            if a.null is False and a.x is False:
                return a
            b = other(env)
            is_false = either(both(no(a.null), no(a.x)), both(no(b.null), no(b.x)))
            return V("boolean", both(truth(a), truth(b)), both(no(is_false), either(a.null, b.null)))

        return found

    def _or(self, node: exp.Expr) -> Compiled:
        one, other = self._two(node)

        def found(env: Env) -> V:
            a = one(env)
            if a.null is False and a.x is True:
                return a
            b = other(env)
            is_true = either(truth(a), truth(b))
            return V("boolean", is_true, both(no(is_true), either(a.null, b.null)))

        return found

    def _not(self, node: exp.Expr) -> Compiled:
        one = self.compiled(node.this)
        return lambda env: _not(one(env))

    def _is(self, node: exp.Expr) -> Compiled:
        one, what = self.compiled(node.this), node.expression.unnest()
        if isinstance(what, exp.Null):
            return lambda env: V("boolean", one(env).null)
        if isinstance(what, exp.Boolean):
            holds = bool(what.this)
            return lambda env: V("boolean", truth(one(env) if holds else _not(one(env))))
        raise Unproved(render(node))

    def _between(self, node: exp.Between) -> Compiled:
        return self.compiled(both_bounds(node))

    def _in(self, node: exp.In) -> Compiled:
        if not node.expressions:
            raise Unproved(render(node))
        legs = [exp.EQ(this=node.this.copy(), expression=item.copy()) for item in node.expressions]
        return self.compiled(exp.or_(*legs, copy=False) if len(legs) > 1 else legs[0])

    def _case(self, node: exp.Expr) -> Compiled:
        if isinstance(node, exp.If):
            branches, default = [node], node.args.get("false")
        else:
            branches, default = node.args.get("ifs") or [], node.args.get("default")
        of = node.args.get("this") if isinstance(node, exp.Case) else None
        tests = [
            self.compiled(branch.this if of is None else exp.EQ(this=of.copy(), expression=branch.this.copy()))
            for branch in branches
        ]
        values = [self.compiled(branch.args["true"]) for branch in branches]
        rest = self.compiled(default) if default is not None else lambda env: NULL

        def found(env: Env) -> V:
            so_far: list[tuple[Any, V]] = []
            for test, value in zip(tests, values):
                holds = truth(test(env))
                if holds is True:
                    last = value(env)
                    break
                if holds is not False:
                    so_far.append((holds, value(env)))
            else:
                last = rest(env)
            for holds, value in reversed(so_far):
                last = chosen(holds, value, last)
            return last

        return found

    def _cast(self, node: exp.Cast) -> Compiled:
        to, safe, zone = kind_of(node.to), bool(node.args.get("safe")), self.zone
        literal = node.this
        if isinstance(literal, exp.Literal) and to not in ("timestamp", "date", "timestamp_ntz"):
            constant = _number(literal.name, to)
            return lambda env: constant
        one = self.compiled(literal)
        if isinstance(literal, exp.Literal):
            instant = functions.cast(zone, one({}), to, safe)
            return lambda env: instant
        return lambda env: functions.cast(zone, one(env), to, safe)

    def _interval(self, node: exp.Interval) -> Compiled:
        unit, value = node.args.get("unit"), node.this
        if isinstance(unit, exp.IntervalSpan):
            length = _of_span(value.name, unit)
            return lambda env: length
        if unit is None:
            words = value.name.split()
            parts = [_length(V("bigint", int(n)), name) for n, name in zip(words[::2], words[1::2])]
            total = parts[0]
            for part in parts[1:]:
                total = functions.plus(UTC, total, part)
            return lambda env: total
        one = _number(value.name, "bigint") if isinstance(value, exp.Literal) else None
        if one is None:
            made = self.compiled(value)
            return lambda env: _length(made(env), unit.name)
        length = _length(one, unit.name)
        return lambda env: length

    def _literal(self, node: exp.Literal) -> Compiled:
        if node.is_string:
            text = V("string", node.name)
            return lambda env: text
        number = _number(node.name, "")
        return lambda env: number

    def _negative(self, node: exp.Neg) -> Compiled:
        one, zone = self.compiled(node.this), self.zone
        return lambda env: functions.negative(zone, one(env))

    def _column(self, node: exp.Expr) -> Compiled:
        names = [part.name.lower() for part in node.parts] if isinstance(node, exp.Column) else [node.name.lower()]
        name, *fields = names

        def found(env: Env) -> V:
            value = env[name]
            for field in fields:
                value = NULL if value.null is True else value.x[field]
            return value

        if fields:
            return found
        return lambda env: env[name]

    def _dot(self, node: exp.Dot) -> Compiled:
        one, field = self.compiled(node.this), node.expression.name.lower()

        def found(env: Env) -> V:
            value = one(env)
            return NULL if value.null is True else value.x[field]

        return found

    def _bracket(self, node: exp.Bracket) -> Compiled:
        one, at = self.compiled(node.this), int(node.expressions[0].name)

        def found(env: Env) -> V:
            items = one(env).x
            return items[at] if at < len(items) else NULL

        return found

    def _tuple(self, node: exp.Tuple) -> Compiled:
        parts = [self.compiled(part) for part in node.expressions]

        def found(env: Env) -> V:
            values = [part(env) for part in parts]
            return V("struct", dict(enumerate(values)), either(*(value.null for value in values)))

        return found

    def _joined(self, node: exp.DPipe) -> Compiled:
        (one, other), zone = self._two(node), self.zone
        return lambda env: FUNCTIONS["concat"](zone, one(env), other(env))

    def _extract(self, node: exp.Extract) -> Compiled:
        one, unit, zone = self.compiled(node.expression), V("string", node.name), self.zone
        return lambda env: FUNCTIONS["extract"](zone, unit, one(env))

    def _call(self, node: exp.Expr) -> Compiled:
        name, given = named(node)
        if name == "mz_now" and not given:
            return lambda env: env["mz_now"]
        if name in _HIGHER:
            return _HIGHER[name](self, given)
        made = self.instead.get(name) or FUNCTIONS.get(name)
        if made is None:
            raise Unproved(f"the function {name}")
        zone, units = self.zone, starts_with_unit(node)
        parts = [self.compiled(part) for part in given[units:]]
        first = [V("string", given[0].name)] if units else []
        if name in _LAZY:
            return lambda env: _first_of(made, zone, parts, env)
        return lambda env: made(zone, *first, *(part(env) for part in parts))

    # -- functions of functions --

    def _transform(self, given: list[exp.Expr]) -> Compiled:
        one, each = self.compiled(given[0]), self._lambda(given[1])
        return lambda env: V("array", [each(env, item, V("int", i)) for i, item in enumerate(one(env).x)])

    def _filter(self, given: list[exp.Expr]) -> Compiled:
        one, each = self.compiled(given[0]), self._lambda(given[1])

        def found(env: Env) -> V:
            return V("array", [x for i, x in enumerate(one(env).x) if truth(each(env, x, V("int", i)))])

        return found

    def _exists(self, given: list[exp.Expr]) -> Compiled:
        one, each = self.compiled(given[0]), self._lambda(given[1])
        return lambda env: V("boolean", either(*(truth(each(env, item)) for item in one(env).x)))

    def _aggregate(self, given: list[exp.Expr]) -> Compiled:
        one, first, step = self.compiled(given[0]), self.compiled(given[1]), self._lambda(given[2])
        last = self._lambda(given[3]) if len(given) > 3 else None

        def found(env: Env) -> V:
            state = first(env)
            for item in one(env).x:
                after = step(env, state, item)
                if after is state:  # it would stay so
                    break
                state = after
            return state if last is None else last(env, state)

        return found

    def _lambda(self, node: exp.Expr) -> Callable[..., V]:
        names, body = of_lambda(node)
        made = self.compiled(body)
        return lambda env, *values: made({**env, **dict(zip(names, values))})


def of_lambda(node: exp.Expr) -> tuple[list[str], exp.Expr]:
    """The names and the body of `x -> …`."""
    if not isinstance(node, exp.Lambda):
        raise Unproved(f"a lambda: {render(node)[:80]}")
    return [name.name.lower() for name in node.expressions], node.this


def named(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """The name and the arguments of a call, whichever class the parser has for the call."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), list(node.expressions)
    if is_mz_now(node):
        return "mz_now", []
    if isinstance(node, exp.Substring):
        return "substring", [node.this, *(node.args[key] for key in ("start", "length") if node.args.get(key))]
    parts = [node.args[key] for key in node.arg_types if node.args.get(key) is not None]
    given = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    return node.sql_name().lower(), [part for part in given if isinstance(part, exp.Expr)]


def _not(a: V) -> V:
    return V("boolean", no(a.x), a.null)


#: these look at their next argument only where they need it
_LAZY = frozenset({"coalesce", "nvl", "ifnull"})


def _first_of(made: Callable[..., V], zone: Rules, parts: list[Compiled], env: Env) -> V:
    values = []
    for part in parts:
        values.append(part(env))
        if values[-1].null is False:
            break
    return made(zone, *values)


@lru_cache(maxsize=10_000)
def _number(text: str, to: str) -> V:
    """A number as Spark types its literal; `to`, where a suffix or a cast names its kind."""
    if to == "double" or to == "" and "e" in text.lower():
        return V("double", float(text))
    before, _, after = text.partition(".")
    if to.startswith("decimal") or after:
        scale = functions.scale_of(to) if to.startswith("decimal") else len(after)
        if scale < len(after):
            raise Unproved(f"the number {text} as {to}")
        return V(f"decimal:{scale}", int(before + after) * 10 ** (scale - len(after)))
    value = int(text)
    return V(to or ("int" if value < 2**31 else "bigint" if value < 2**63 else "decimal:0"), value)


def _length(n: V, unit: str) -> V:
    name = unit.upper().removesuffix("S")
    if name in MONTHS:
        return V("months", n.x * MONTHS[name], n.null)
    if name not in UNITS:
        raise Unproved(f"an interval of {unit}")
    return V("days" if name in ("DAY", "WEEK") else "daytime", n.x * UNITS[name], n.null)


def _of_span(text: str, unit: exp.IntervalSpan) -> V:
    first, last = unit.this.name.upper(), unit.expression.name.upper()
    sign = -1 if text.strip().startswith("-") else 1
    if (first, last) == ("YEAR", "MONTH"):
        years, months = text.strip().lstrip("+-").split("-")
        return V("months", sign * (int(years) * 12 + int(months)))
    parts = text.strip().lstrip("+-").replace(" ", ":").split(":")
    names = ("DAY", "HOUR", "MINUTE", "SECOND")
    names = names[names.index(first) :]
    if len(parts) > len(names) or "." in text or first not in ("DAY", "HOUR", "MINUTE"):
        raise Unproved(f"the interval {text}")
    return V("daytime", sign * sum(int(part) * UNITS[name] for part, name in zip(parts, names)))


def kind_of(to: exp.DataType) -> str:
    """The kind of values of a type."""
    name = to.sql(dialect="spark").lower()
    if name.startswith("decimal"):
        return f"decimal:{name.rstrip(')').partition(',')[2].strip() or 0}"
    return {"timestamp_ltz": "timestamp", "array<bigint>": "array"}.get(name, name)


def _constant(value: V) -> Callable[[Translation, exp.Expr], Compiled]:
    return lambda translation, node: lambda env: value


_HIGHER: dict[str, Callable[[Translation, list[exp.Expr]], Compiled]] = {
    "transform": Translation._transform,
    "filter": Translation._filter,
    "exists": Translation._exists,
    "aggregate": Translation._aggregate,
}
_NODES: dict[type, Callable[[Translation, Any], Compiled]] = {
    **dict.fromkeys(_COMPARED, Translation._comparison),
    **dict.fromkeys(_SUMS, Translation._sum),
    exp.NEQ: Translation._unequal,
    exp.NullSafeEQ: Translation._same,
    exp.NullSafeNEQ: Translation._same,
    exp.And: Translation._and,
    exp.Or: Translation._or,
    exp.Not: Translation._not,
    exp.Is: Translation._is,
    exp.Between: Translation._between,
    exp.In: Translation._in,
    exp.Case: Translation._case,
    exp.If: Translation._case,
    exp.Cast: Translation._cast,
    exp.Interval: Translation._interval,
    exp.Literal: Translation._literal,
    exp.Boolean: lambda translation, node: _constant(V("boolean", bool(node.this)))(translation, node),
    exp.Null: _constant(NULL),
    exp.Neg: Translation._negative,
    exp.Column: Translation._column,
    exp.Identifier: Translation._column,
    exp.Dot: Translation._dot,
    exp.Bracket: Translation._bracket,
    exp.Tuple: Translation._tuple,
    exp.DPipe: Translation._joined,
    exp.Extract: Translation._extract,
    exp.Func: Translation._call,
}
