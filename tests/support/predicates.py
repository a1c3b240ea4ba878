"""Random predicates of the clock, rows for them, and intervals against the truth of a predicate."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.pruning import filters
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.diffs import intervals_sql
from dbt.adapters.sparktemporal.temporal.rewrite.model import Model
from support.project import Project

ROWS = 12
#: zone -> instants around which rows lie: month ends, leap days, both changes to and from daylight saving
ZONES = {
    "UTC": ["2024-02-29 23:59:59.999", "2024-12-31 12:00:00", "1969-12-31 23:59:59.5", "2024-03-10 07:00:00"],
    "America/New_York": ["2024-03-10 07:00:00", "2024-11-03 05:59:59.999", "2024-11-03 06:30:00"],
    "Asia/Kolkata": ["2024-03-31 18:30:00", "2024-02-29 18:29:59.999"],
}
SHIFTS = [0, 0, 1, -1, 999, 3_600_000, -3_600_000, 86_400_000, 31 * 86_400_000]
#: every value of a row that a predicate may compare with the clock, ms
VALUES = (
    "unix_millis(a), unix_millis(e), unix_millis(cast(d AS timestamp)), unix_millis(cast(ntz AS timestamp)), ms, "
    "cast(floor(dec) AS BIGINT)"
)
#: after any instant that is looked at (ms)
NEVER = 2**62
Rng = random.Random
#: what a row is told that moves the clock to before a change of the zone
GUARDED = "leads a row to before"
#: intervals that are as long in each zone, and those that are not
_SHORT = ("90 minutes", "1 millisecond", "23 hours", "1 hour 30 minutes", "2 hours -1 seconds")
_LONG = ("1 day", "1 month", "13 months", "40 days", "1 year 1 month", "1 day -2 hours")


class Grammar:
    """Predicates as text, with {n} for the clock beside instants and {m} beside numbers."""

    def __init__(self, rng: Rng, fixed_zone: bool) -> None:
        self.rng, self.fixed = rng, fixed_zone

    def predicate(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.15:
            return self.rng.choice([self.comparison, self.comparison, self.comparison, self.plain])()
        sub = partial(self.predicate, depth - 1)
        forms = [
            lambda: f"({sub()} and {sub()})",
            lambda: f"({sub()} or {sub()})",
            lambda: f"({sub()} and {sub()} or {sub()})",
            lambda: f"not ({sub()})",
            lambda: f"(({sub()}) is {self.rng.choice(['', 'not '])}{self.rng.choice(['null', 'true', 'false'])})",
            lambda: f"(({sub()}) <=> ({sub()}))",
            lambda: f"(({sub()}) is distinct from ({self.plain()}))",
            lambda: f"(case when {sub()} then {sub()} else {sub()} end)",
            lambda: f"(case when {self.plain()} then {sub()} when {sub()} then {self.plain()} end)",
            lambda: f"if({sub()}, {sub()}, {self.plain()})",
            lambda: f"coalesce({sub()}, {sub()})",
            lambda: f"(if({sub()}, 1, k) = k)",
        ]
        return self.rng.choice(forms)()

    def plain(self) -> str:
        return self.rng.choice(
            ["b", "k = 1", "k is null", "a < e", "not b", "ms % 2 = 0", "true", "cast(null as boolean)"]
        )

    def comparison(self) -> str:
        rng = self.rng
        op, instant, number = rng.choice(["<", "<=", ">", ">=", "=", "<>", "<=>"]), self.instant(), self.number()
        forms = [
            lambda: f"{{n}} {op} {instant}",
            lambda: f"{instant} {op} {{n}}",
            lambda: f"{{m}} {op} {number}",
            lambda: f"{number} {op} {{m}}",
            lambda: f"{{n}} {rng.choice(['', 'not '])}between {instant} and {self.instant()}",
            lambda: f"{{m}} {rng.choice(['', 'not '])}in ({number}, {self.number()}, {rng.choice(['null', 'ms'])})",
            lambda: f"{{n}} not in ({instant}, {self.instant()})",
            lambda: f"({instant} is null or {{n}} < {instant})",
            lambda: f"({number} is null or {{m}} {rng.choice(['<', '<=', '>', '>='])} {number})",
            lambda: f"{{n}} - interval {rng.choice(_SHORT)} {op} {instant}",
            lambda: f"{{m}} + k {op} {number}",
            lambda: f"{number} - {{m}} {op} k * 1000",
            lambda: f"{{m}} div 1000 {op} ms div 1000",
            lambda: f"unix_millis({{n}}) {op} ms",
            lambda: f"date_trunc('{self.unit()}', {{n}}) {op} date_trunc('{self.unit()}', {instant})",
            lambda: f"date_trunc('{self.unit()}', {{n}}) {op} {instant}",
            lambda: f"cast({{n}} as date) {op} {rng.choice(['d', 'cast(a as date)'])}",
            lambda: f"datediff({{n}}, d) {op} k",
            lambda: f"{rng.choice(['date_add', 'dateadd'])}(cast({{n}} as date), k) {op} d",
            lambda: f"year({{n}}) {op} year({instant})",
            lambda: f"extract(YEAROFWEEK FROM {{n}}) {op} extract(YEAROFWEEK FROM {instant})",
            lambda: f"cast({{n}} as date) - interval {rng.choice(['7 days', '1 month'])} {op} {rng.choice(['d', 'a'])}",
            lambda: f"d - cast({{n}} as date) {op} iv",
            lambda: f"(case {{m}} when ms then true when {number} then b end)",
        ]
        if self.fixed:
            forms += [
                lambda: f"{instant} - {{n}} {op} iv",
                lambda: f"{{n}} - a {op} interval '1' hour",
                lambda: f"{{n}} - interval {rng.choice(_LONG)} {op} {instant}",
                lambda: f"{{n}} + iv {op} {instant}",
                lambda: f"{{n}} + interval 1 month {op} {instant}",
                lambda: f"timestampdiff(HOUR, {instant}, {{n}}) {op} k",
                lambda: f"add_months(cast({{n}} as date), k) {op} d",
            ]
        return rng.choice(forms)()

    def instant(self) -> str:
        moved = [f"date_trunc('{self.unit()}', a)", "e - interval '1 02:30' day to minute", "d + 3", "date_sub(a, 2)"]
        of_more = ["greatest(a, e)", "least(e, a)", "if(k = 1, a, e)", "timestamp_millis(ms)", "a + interval 1 month"]
        plain = ["a", "a", "e", "d", "ntz", "a + interval 1 day", "coalesce(a, e)", "a - iv"]
        return self.rng.choice([*plain, *plain, *moved, *of_more])

    def number(self) -> str:
        made = ["ms + 5000", "100 * (ms div 100)", "unix_millis(a) - 1", "-k", "unix_seconds(e) * 1000"]
        plain = ["ms", "ms", "dec", "ms + k", "cast(dec as bigint)", "k"]
        return self.rng.choice([*plain, *plain, *made])

    def unit(self) -> str:
        return self.rng.choice(["HOUR", "DAY", "WEEK", "MONTH", "MINUTE", "QUARTER", "YEAR", "SECOND"])


#: patterns that order like the instant, and zones beside the session's
PATTERNS = ("yyyy", "yyyy-MM", "yyyyMM", "yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH", "yyyyMMddHH", "yyyy-MM-dd HH:mm",
            "yyyy/MM/dd", "yyyy-MM-01", "yyyyDDD", "yyyy-'Q'q", "yyyy-MM-dd HH:mm:ss.SSS")  # fmt: skip
OTHER_ZONES = ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "UTC", "+05:45")
#: texts that are no dates, and dates of other centuries
TEXTS = ("''", "'zzz'", "'0'", "'2024'", "'2024-3-9'", "'+10000-01-01'", "'10000-01-01'", "'-0001-01-01'",
         "'9999-12-31'", "'2024-02-30'", "'2024-03-10 '", "'dt=2024-03-10'")  # fmt: skip


class Natural(Grammar):
    """Predicates as people write them: formats, partitions, zones, ages, values that may be open."""

    def comparison(self) -> str:
        return self.rng.choice(self.families())()

    def families(self) -> list[Callable[[], str]]:
        return [
            self.format, self.partition, self.number, self.parts, self.made, self.zone, self.age, self.length,
            self.open,
        ]  # fmt: skip

    def op(self) -> str:
        return self.rng.choice(["=", "=", ">=", ">=", "<=", "<", ">", "<>", "<=>"])

    def clock(self) -> str:
        zone = self.rng.choice(OTHER_ZONES)
        moved = ["{n} - interval 7 days", "{n} - interval 90 minutes", "date_sub({n}, 3)", "cast({n} as date)",
                 "add_months({n}, -1)", f"from_utc_timestamp({{n}}, '{zone}')", "{n} - make_interval(0, 0, 0, k)",
                 "{n} - interval 1 month", "coalesce(e, {n})", "{n} + make_dt_interval(k)"]  # fmt: skip
        return self.rng.choice(["{n}", "{n}", "{n}", self.rng.choice(moved)])

    def row(self) -> str:
        return self.rng.choice(["a", "a", "e", "d", "ntz"])

    def format(self) -> str:
        pattern = self.rng.choice(PATTERNS).replace("'", "''")
        pattern = f'r"{pattern}"'.replace("''", "'")[1:]
        other = self.rng.choice([f"date_format({self.row()}, {pattern})", "s"])
        return f"date_format({self.clock()}, {pattern}) {self.op()} {other}"

    def partition(self) -> str:
        c, op, rng = self.clock(), self.op(), self.rng
        day = f"cast(cast({c} as date) as string)"
        forms = [
            f"s {op} {day}", f"s {op} substr({day}, 1, {rng.choice([4, 7, 10])})", f"s {op} replace({day}, '-', '')",
            f"s {op} cast({c} as string)", f"s {op} left(string({c}), {rng.choice([7, 10])})",
            f"concat('dt=', s) {op} concat('dt=', date_format({c}, 'yyyy-MM-dd'))",
            f"concat(date(a), '/', hour(a)) {op} concat(date_format({c}, 'yyyy-MM-dd'), '/', date_format({c}, 'HH'))",
            f"int(date_format(a, 'yyyyMMdd')) {op} int(date_format({c}, 'yyyyMMdd'))",
            f"s between date_format({{n}} - interval 7 days, 'yyyy-MM-dd') and {day}",
            f"s {op} from_unixtime(unix_timestamp({{n}}) - 3600)",
            f"a {op} from_unixtime(unix_timestamp({{n}}) - 3600)", f"d {op} date_format({c}, 'yyyy-MM-dd')",
            f"a {op} date_format({c}, 'yyyy-MM-dd 00:00:00')",
        ]  # fmt: skip
        return rng.choice(forms)

    def number(self) -> str:
        form = self.rng.choice([
            "year({x}) * 100 + month({x})", "year({x}) * 12 + month({x})", "year({x}) * 10 + quarter({x})",
            "year({x}) * 10000 + month({x}) * 100 + day({x})", "year({x}) * 1000 + dayofyear({x})",
            "case when month({x}) >= 7 then year({x}) + 1 else year({x}) end", "year({x}) + if(month({x}) > 9, 1, 0)",
            "extract(yearofweek from {x}) * 100 + weekofyear({x})", "concat(year({x}), '-Q', quarter({x}))",
            "concat(year({x}), lpad(month({x}), 2, '0'))", "year({x}) * 4 + (month({x}) - 1) div 3",
            "(bigint(year({x})) * 10000 + month({x}) * 100 + day({x})) * 100 + hour({x})",
        ])  # fmt: skip
        return f"{form.replace('{x}', self.clock())} {self.op()} {form.replace('{x}', self.row())}"

    def parts(self) -> str:
        x, r, rng = self.clock(), self.row(), self.rng
        parts = rng.choice([
            ("year({x})", "month({x})"), ("year({x})", "month({x})", "day({x})"), ("year({x})", "quarter({x})"),
            ("cast({x} as date)", "hour({x})"), ("date_format({x}, 'yyyy-MM-dd')", "date_format({x}, 'HH')"),
            ("date_trunc('MONTH', {x})", "day({x})"), ("extract(yearofweek from {x})", "weekofyear({x})"),
        ])  # fmt: skip
        clock, row = ([part.replace("{x}", y) for part in parts] for y in (x, r))
        if rng.random() < 0.4:
            return f"({', '.join(row)}) {self.op()} ({', '.join(clock)})"
        last = rng.choice(["=", "=", "=", ">=", "<"])
        ops = ["="] * (len(parts) - 1) + [last]
        return "(" + " and ".join(f"{one} {op} {other}" for one, op, other in zip(row, ops, clock)) + ")"

    def made(self) -> str:
        c = self.clock()
        form = self.rng.choice([
            f"make_date(year({c}), 1, 1)", f"make_date(year({c}), month({c}), 1)", f"make_date(year({c}) - 1, 7, 1)",
            f"make_date(year({c}), quarter({c}) * 3 - 2, 1)", f"make_timestamp(year({c}), month({c}), 1, 6, 30, 0)",
            f"to_date(concat(year({c}), '-01-01'))", f"cast(date_format({c}, 'yyyy-MM-01') as date)",
            f"to_date(date_format({c}, 'yyyyMM'), 'yyyyMM')", f"make_date(year({c}), 1, 1) - interval 3 months",
            f"to_timestamp(date_format({c}, 'yyyy-MM-dd HH'), 'yyyy-MM-dd HH')",
            f"last_day(make_date(year({c}), 2, 1))",
        ])  # fmt: skip
        return f"{self.row()} {self.op()} {form}"

    def zone(self) -> str:
        z, op, rng = rng_zone(self.rng), self.op(), self.rng
        local = "from_utc_timestamp({x}, '" + z + "')"
        ntz = f"convert_timezone('UTC', '{z}', cast({{x}} as timestamp_ntz))"
        form = rng.choice([
            f"to_date({local})", f"date_trunc('{self.unit()}', {local})", local,
            f"date_format({local}, 'yyyy-MM-dd HH')",
            f"to_utc_timestamp(date_trunc('DAY', {local}), '{z}')", f"to_utc_timestamp({{x}}, '{z}')", ntz,
            f"cast({ntz} as date)", f"{local} - interval 1 day", f"year({local}) * 100 + month({local})",
        ])  # fmt: skip
        return f"{form.replace('{x}', 'a')} {op} {form.replace('{x}', '{n}')}"

    def age(self) -> str:
        rng, op = self.rng, self.op()
        unit = rng.choice(["HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "MINUTE"])
        forms = [
            f"months_between({{n}}, {self.row()}) {op} {rng.choice(['k', '1', '0.5', '3'])}",
            f"floor(months_between({{n}}, a)) {op} {rng.choice(['0', 'k'])}",
            f"months_between(e, {{n}}) {op} k",
            f"timestampdiff({unit}, a, {{n}}) {op} k",
            f"datediff({unit}, {{n}}, a) {op} k",
            f"abs(datediff({{n}}, a)) {op} {rng.choice(['1', 'k'])}",
            f"datediff(coalesce(e, {{n}}), a) {op} k",
            f"abs(unix_timestamp({{n}}) - unix_timestamp(a)) {op} 3600",
            f"(unix_timestamp({{n}}) - unix_timestamp(a)) / 3600 {op} {rng.choice(['24', 'k'])}",
            f"floor((unix_timestamp({{n}}) - unix_timestamp(a)) / 86400) {op} k",
            f"round((unix_timestamp({{n}}) - unix_timestamp(a)) / 3600, {rng.choice(['0', '1'])}) {op} k",
            f"int((unix_timestamp({{n}}) - unix_timestamp(a)) / 60) {op} {rng.choice(['16', 'k'])}",
            f"cast((unix_timestamp(a) - unix_timestamp({{n}})) / {rng.choice([7, 3600])} as int) {op} k",
            f"cast(({{m}} - ms) / 60000 as int) {op} k",
            f"bigint((unix_millis({{n}}) - ms) / 3600000) {op} k",
            f"cast(round((unix_timestamp({{n}}) - unix_timestamp(a)) / 3600) as int) {op} k",
            f"cast(months_between({{n}}, {self.row()}) as int) {op} {rng.choice(['0', 'k'])}",
            f"cast({{n}} as bigint) - cast(a as bigint) {op} 900",
        ]
        return rng.choice(forms)

    def length(self) -> str:
        rng, op = self.rng, self.op()
        days = rng.choice(["make_interval(0, 0, 0, k)", "make_interval(0, 0, 0, k, k)", "make_dt_interval(k)",
                           "k * interval 1 day", "interval 7 days", "interval 1 month",
                           "interval '1 02:30' day to minute", "interval 1 week"])  # fmt: skip
        forms = [
            f"{{n}} - {days} {op} {self.row()}", f"a + {days} {op} {{n}}", f"{{n}} - a {op} iv",
            f"abs({{n}} - a) {op} interval 1 hour", f"date_trunc('{self.unit()}', {{n}} - {days}) {op} a",
        ]  # fmt: skip
        return rng.choice(forms)

    def open(self) -> str:
        rng, op = self.rng, self.op()
        forms = [
            f"nvl(e, {{n}} + interval 1 day) {op} {{n}}",
            f"coalesce(e, {{n}}) {op} {{n}}",
            f"coalesce(e, {{n}}) - a {op} interval 1 hour",
            f"ifnull(e, {{n}}) {op} a + interval 1 hour",
            f"case when e is null then {{n}} else e end - a {op} interval 1 hour",
            f"if(k = 1, {{n}}, e) {op} a",
            f"least(e, {{n}}) - a {op} interval 1 hour",
            f"greatest(a, {{n}} - interval 7 days) {op} a",
            "{n} between a and coalesce(e, {n})",
            f"greatest(a, {{n}}) {op} {{n}} - interval 1 hour",
        ]
        return rng.choice(forms)


class Elements(Grammar):
    """Predicates in which the clock is compared with the elements of an array."""

    def comparison(self) -> str:
        rng = self.rng
        array, x = self.array()
        some, other = self.holds(x), self.holds(x)
        forms = [
            f"exists({array}, x -> {some})", f"exists({array}, x -> {some})", f"forall({array}, x -> {some})",
            f"size(filter({array}, x -> {some})) > 0", f"size(filter({array}, X -> {some})) {rng.choice(['>', '='])} 1",
            f"exists({array}, x -> {some} {rng.choice(['and', 'or'])} {other})",
            f"forall({array}, x -> {some} {rng.choice(['and', 'or'])} {other})",
            f"exists({array}, x -> {x} is not null and {some})", f"exists({array}, x -> {self.plain()} and {some})",
            f"exists({array}, x -> {x} between {{n}} - interval 2 hours and {{n}})",
            f"array_max(filter({array}, x -> {some})) is not null",
            f"{{n}} < element_at(transform({array}, x -> {x}), 1)",
        ]  # fmt: skip
        return rng.choice(forms)

    def array(self) -> tuple[str, str]:
        """An array, and an instant of its element x."""
        structs = "array(named_struct('lo', a, 'x', e), named_struct('lo', e, 'x', a + interval 1 hour), null)"
        arrays = [
            "array(a, e, null)", "array(e)", "array(d, cast(a as date))", "array(a, a + interval 31 minutes, e)",
            "if(k = 1, array(e, a), null)", "cast(array() as array<timestamp>)",
            "filter(array(e, a), y -> y is not null)",
            "array(cast(null as timestamp))", "array(ntz, cast(e as timestamp_ntz))",
        ]  # fmt: skip
        return self.rng.choice([(structs, self.rng.choice(["x.lo", "x.x"])), *((one, "x") for one in arrays)])

    def holds(self, x: str) -> str:
        rng = self.rng
        op = rng.choice(["<", "<=", ">", ">=", ">=", "<", "=", "<>"])
        clock = rng.choice(
            ["{n}", "{n}", "{n} - interval 90 minutes", "{n} - interval 7 days", "date_trunc('DAY', {n})", "current"]
        ).replace("current", "cast({n} as date)")
        side = rng.choice([x, x, f"{x} + interval 1 hour", f"date_trunc('HOUR', {x})", f"coalesce({x}, a)"])
        return f"{side} {op} {clock}" if rng.random() < 0.5 else f"{clock} {op} {side}"


def rng_zone(rng: Rng) -> str:
    return rng.choice(OTHER_ZONES)


#: instants (ms) at which steps of local time begin around a row: the edges of its units, and each half hour of two days
STEPS = (
    "flatten(transform(array('DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR'), u -> flatten(transform(array(a, e), x -> "
    "transform(array(-1L, 0L, 1L), s -> unix_millis(date_trunc(u, x + interval 3 days)) + s))))), "
    "flatten(transform(filter(array(a, e), x -> x IS NOT NULL), x -> flatten(transform(sequence(-8, 8), h -> "
    "transform(array(-1L, 0L), s -> unix_millis(date_trunc('HOUR', x)) + 1800000L * h + s)))))"
)


def rows(rng: Rng, around: list[str], as_of: str, steps: bool = False) -> str:
    """VALUES of an id, instants near each other and near what is special in the zone, numbers, texts, NULLs.

    instants: those at which every predicate is looked at, ms. steps: also where steps of local time begin.
    """

    def near(base: str) -> str:
        if rng.random() < 0.1:
            return "null"
        micros = rng.choice([*SHIFTS, rng.randrange(10**8)]) * 1000 + rng.choice([0, 0, 0, 1, 500, 999])
        return f"timestamp_micros(unix_micros({base}) + {micros})"

    def text() -> str:
        pattern = rng.choice(["yyyy-MM-dd", "yyyyMMdd", "yyyy-MM", "yyyy-MM-dd HH:mm:ss"])
        of_date = f"date_format({near(base)}, '{pattern}')"
        return rng.choice([of_date, of_date, of_date, "cast(null as string)", rng.choice(TEXTS)])

    out = []
    for number in range(ROWS):
        base = f"timestamp '{rng.choice(around)} UTC'"
        k = rng.choice(["null", "0", "1", "-1", "2", "30"])
        hours = rng.choice(["null", "0", "1", "-25", "36", "720"])
        out.append(
            f"({number}, {near(base)}, {near(base)}, cast({near(base)} as date), cast({near(base)} as timestamp_ntz), "
            f"unix_millis({near(base)}), cast(unix_millis({near(base)}) as decimal(20, 3)) + "
            f"{rng.choice(['0', '0.5', '0.001', '-0.999'])}, {k}, {rng.choice(['true', 'false', 'null'])}, "
            f"make_dt_interval(0, {hours}){f', {text()}' if steps else ''})"
        )
    shifts = f"array(-1L, 0L, 1L, {rng.randrange(-(10**8), 10**8)}L)"
    values = f"filter(array({VALUES}), v -> v IS NOT NULL)"
    around_values = f"flatten(transform({values}, v -> transform({shifts}, s -> v + s)))"
    every = f"{around_values}, {STEPS}" if steps else around_values
    return (
        f"SELECT *, concat({every}, array({as_of}, {as_of} + 1, 4102444800000L)) AS instants "
        f"FROM VALUES {', '.join(out)} AS v(id, a, e, d, ntz, ms, dec, k, b, iv{', s' if steps else ''})"
    )


def compared(warehouse: Warehouse, number: int, text: str, model: Model, as_of: int, last: int | None) -> str:
    """A query: where membership by intervals differs from the predicate's truth, or intervals touch.

    Up to the last instant that is asked for. Rows that are out all the while are left out early, by single columns.
    """
    (core,) = model.cores
    assert core.core.first_call is not None and not model.notes, (text, model.notes)
    truth = text.format(n="timestamp_millis(t)", m="t")
    projection = filters.projected(warehouse, core, warehouse.settings(), Range(as_of, last))
    spans = intervals_sql.desired(core, as_of, last, projection)
    edges = "flatten(transform(spans, s -> array(s.f - 1, s.f, s.f + 1, s.u - 1, s.u, s.u + 1)))"
    return (
        f"SELECT {number} AS q, id, t, ({truth}) IS TRUE AS wanted, spans,\n"
        f"  coalesce(aggregate(spans, 0, (n, s) -> n + INT(s.f <= t AND (s.u IS NULL OR s.u > t))), 0) AS found,\n"
        f"  exists(spans, s -> exists(spans, o -> o.u = s.f)) AS touching\n"
        f"FROM mz_rows LEFT JOIN (\n"
        f"  SELECT id AS of, collect_list(named_struct('f', mz_from, 'u', mz_until)) AS spans\n"
        f"  FROM (\n{spans}\n  ) GROUP BY id\n) ON of = id\n"
        f"LATERAL VIEW explode(array_distinct(concat(instants, coalesce({edges}, array())))) x AS t\n"
        f"WHERE t BETWEEN {as_of}L AND {NEVER if last is None else last}L"
    )


def judge(project: Project, zone: str, texts: list[str], as_of: int, source: str) -> tuple[int, int]:
    """-> how many predicates were accepted, and how many of those met a row that leads too far; a wrong one fails."""
    spark, warehouse = project.spark, Warehouse(project.rows)
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.sql(source).coalesce(1).createOrReplaceTempView("mz_rows")
    settings, accepted, guarded = warehouse.settings(), 0, 0
    queries = []
    for number, text in enumerate(texts):
        written = f"SELECT id FROM mz_rows WHERE {text.format(n='mz_now()', m='mz_now()')}"
        try:
            model = understand(warehouse, written, settings, "4.1", as_of)
        except Refusal:
            continue
        if model.notes:  # a read filters it, which is tested elsewhere
            continue
        accepted += 1
        queries.append((text, compared(warehouse, number, text, model, as_of, None)))
    differs = "coalesce(touching, false) OR found <> CAST(wanted AS INT)"
    batches = [queries]
    while batches:
        batch = batches.pop()
        every = "\nUNION ALL\n".join(query for _, query in batch)
        if not batch:
            continue
        try:
            found = spark.sql(f"SELECT /*+ COALESCE(1) */ * FROM ({every}) WHERE {differs} LIMIT 1").collect()
        except Exception as error:
            if GUARDED not in str(error):
                raise
            guarded += len(batch) == 1
            batches += [[query] for query in batch] if len(batch) > 1 else []
            continue
        for row in found:
            shown = spark.table("mz_rows").where(f"id = {row.id}").drop("instants").collect()[0]
            raise AssertionError(f"{zone}, as of {as_of}: {texts[row.q]}\n  {shown}\n  {row}")
    return accepted, guarded
