"""User-defined functions, from text alone: the functions that a query calls, and the content of their bodies.

Spark's analyzed plan shows the name of a function and not its body. So Spark is asked for the body of each function
(DESCRIBE FUNCTION EXTENDED).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from ....errors import Refusal
from ..functions import registry
from ..functions.calls import by_name, nondeterministic
from ..functions.registry import BUILTIN
from ..functions.row import CHANCE, CLOCK, CODE, FILES, PLACE, SESSION
from ..text.dialect import parse, quote
from ..text.grammar import MZ_NOW_NAMES, OF_SPARK, OwnFunction
from ..text.identifiers import folded, parts

Name = tuple[str, ...]
#: how Spark calls the classes of functions whose arguments do not decide their value
_FICKLE_CLASSES = (
    (CLOCK, re.compile(r"(Current|Local)(Date|Time)|Now|CurDate")),
    (SESSION, re.compile(r"Current|Session|SparkVersion")),
    (CHANCE, re.compile(r"Rand|Uuid|Shuffle|Uniform")),
    (PLACE, re.compile(r"InputFile|SparkPartition|Monotonically")),
    (CODE, re.compile(r"CallMethod|TryReflect|Python")),
)


@dataclass(frozen=True)
class Routine:
    """A user-defined function, or an unknown one of Spark's that reads a clock or the like."""

    #: Spark's name, with catalog and schema unless the function is temporary
    name: str
    #: the query of the function; None where Spark does not tell the body
    body: str | None = None
    #: equal for equal functions
    fingerprint: str = ""
    #: the schema in which names of the body are looked up
    namespace: Name = ()
    #: the temporary functions that the body names
    temporaries: frozenset[str] = frozenset()
    #: the source of values that the arguments do not decide, such as a clock; "" for none
    why: str = ""
    #: the functions that the body calls without a schema, where the namespace is not known
    unplaced: tuple[str, ...] = ()
    #: whether all that decides the values is in this fingerprint, or in the fingerprint of another function
    is_told: bool = True

    @property
    def is_temporary(self) -> bool:
        return "." not in self.name

    @property
    def reads_tables(self) -> bool:
        """Whether the body itself reads a table. In a body that cannot be parsed, a FROM counts."""
        try:
            return any(_is_table(table) for table in parse(self.body or "").find_all(exp.Table))
        except Refusal:
            return self.body is not None and re.search(r"\bfrom\b", self.body, re.IGNORECASE) is not None


def _is_table(table: exp.Table) -> bool:
    if isinstance(table.this, exp.Func):
        return isinstance(table.this, exp.Anonymous) and table.this.name.lower() == "identifier"
    ctes = {cte.alias.lower() for cte in table.root().find_all(exp.CTE)}
    return bool(table.db) or table.name.lower() not in ctes


def called(sql: str) -> list[Name]:
    """The names of the functions that a text calls and that are not built into Spark.

    >>> called("select d.f(a), g(max(b)) from c.d.tf(3) where mz_now() < `h i`(a)")
    [('g',), ('d', 'f'), ('c', 'd', 'tf'), ('h i',)]
    """
    try:
        return called_in(parse(sql))
    except Refusal:
        plain = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", "''", sql, flags=re.DOTALL)
        found = re.findall(r"((?:(?:`[^`]+`|\w+)\s*\.\s*)*(?:`[^`]+`|\w+))\s*\(", plain)
        return _foreign(tuple(part.strip().strip("`") for part in name.split(".")) for name in found)


def called_in(tree: exp.Expr) -> list[Name]:
    """The functions that `called` gives, for a parsed tree."""
    return _foreign(_named_in(tree))


def _foreign(names: Iterable[Name]) -> list[Name]:
    return list(dict.fromkeys(name for name in names if not _is_sparks(name)))


def _named_in(tree: exp.Expr) -> Iterator[Name]:
    for node in tree.find_all(exp.Anonymous):
        around, parts = node.parent, (node.name,)
        if isinstance(around, exp.Dot) and around.expression is node:
            name = node.called if isinstance(node, OwnFunction) else node.name
            parts = (*(i.name for i in around.this.find_all(exp.Identifier, bfs=False)), name)
        elif isinstance(around, exp.Table) and around.this is node:
            parts = (*filter(None, (around.catalog, around.db)), node.name)
        yield parts


def _is_sparks(name: Name) -> bool:
    if len(name) == 1:
        return name[0].lower() in BUILTIN or name[0].lower() in MZ_NOW_NAMES
    return tuple(map(str.lower, name[:-1])) == OF_SPARK


def of_description(rows: Sequence[str]) -> Routine | None:
    """The rows of DESCRIBE FUNCTION EXTENDED -> Routine; None for nearly every built-in function.

    For a SQL function, Spark shows the body and the settings of its evaluation. For any other function, Spark shows
    only the name of a class, whose code may change at any time. A built-in function that the registry does not know is
    a Routine if its class depends on a clock, chance or the like.
    """
    if rows and rows[-1].startswith("Body:"):
        return _of_table(rows)
    fields: dict[str, str] = {}
    for row in rows:
        key, _, value = row.partition(": ")
        fields.setdefault(key, value)
    name, kind = fields.get("Function", "?"), fields.get("Class", "")
    if kind.startswith("org.apache.spark.sql.catalyst."):
        why = "" if name.lower() in registry.KNOWN else _of_class(kind)
        return Routine(name, fingerprint=kind, why=why) if why else None
    told = _of_usage(name, fields.get("Usage", "")) if kind.startswith("sqlFunction") else None
    return told or Routine(name, fingerprint=kind)


def _of_usage(name: str, usage: str) -> Routine | None:
    """A SQL function as Spark before 4.2 describes it: as JSON. None where the JSON does not tell all."""
    try:
        values: dict[str, str] = json.loads(usage)
        body = values.get("sqlFunction.query") or f"SELECT {values['sqlFunction.expression']}"
        length = int(values.get("catalogAndNamespace.numParts", 0))
        namespace = tuple(values[f"catalogAndNamespace.part.{i}"] for i in range(length))
    except (KeyError, ValueError):
        return None
    if re.search(r"\w", values.get("referredTempVariableNames", "")):
        return None  # no text tells the value of a variable
    temporaries = frozenset(re.findall(r"\w+", values.get("referredTempFunctionsNames", "").lower()))
    views = re.search(r"\w", values.get("referredTempViewNames", ""))
    properties = json.dumps({k: v for k, v in values.items() if k != "sqlFunction.createTime"}, sort_keys=True)
    why = nondeterminism(body) or (CHANCE if values.get("sqlFunction.deterministic") == "false" else "")
    return Routine(name, None if views else body, f"{name} {properties}", namespace, temporaries, why)


def _fields(rows: Sequence[str]) -> dict[str, list[str]]:
    """The values of each field; a value goes on in rows that begin with a blank."""
    fields: dict[str, list[str]] = {}
    key = ""
    for row in rows:
        key = key if row.startswith(" ") else row.partition(":")[0]
        fields.setdefault(key, []).append(row.removeprefix(f"{key}:").strip())
    return fields


def _of_table(rows: Sequence[str]) -> Routine:
    """A SQL function as Spark describes it from 4.2 on: a table of fields, the body last.

    This table does not tell in which schema the names in a body are looked up, nor which names are those of variables.
    """
    fields = _fields(rows)
    (name,), (body,) = fields["Function"], fields["Body"]
    body = body if fields["Type"] == ["TABLE"] else f"SELECT {body}"
    why = nondeterminism(body) or (CHANCE if fields.get("Deterministic") == ["false"] else "")
    fingerprint = "\n".join(row for row in rows if not row.startswith("Create Time:"))
    try:
        tree = parse(body)
    except Refusal:
        return Routine(name, body, fingerprint, why=why, is_told=False)
    calls = tuple(name[0] for name in called_in(tree) if len(name) == 1)
    parameters = {folded(parts(given)[0]) for given in fields.get("Input", ()) if parts(given)}
    is_told = not calls and not _may_name_others(tree, folded(parts(name)[-1]), parameters)
    unplaced = tuple(name for name in calls if name.lower() != "identifier")  # a word of SQL, which names anything
    return Routine(name, body, fingerprint, why=why, unplaced=unplaced, is_told=is_told)


def _may_name_others(tree: exp.Expr, function: str, parameters: set[str]) -> bool:
    """Whether a body may name variables, or tables of the current schema."""
    if any(_is_table(table) and not table.db for table in tree.find_all(exp.Table)):
        return True
    around = {folded(of.alias_or_name) for of in tree.find_all(exp.Table, exp.Subquery)} | {function}
    return any(
        folded(column.table) not in parameters | around if column.table else folded(column.name) not in parameters
        for column in tree.find_all(exp.Column)
    )


def _of_class(name: str) -> str:
    """The source of a built-in function's value besides its arguments, by its class (`a clock`); "" for none.

    >>> _of_class("org.apache.spark.sql.catalyst.expressions.CurrentTime"), _of_class("CurrentPath"), _of_class("Hmac")
    ('a clock', 'the session', '')
    """
    simple = name.rpartition(".")[2]
    return next((kind for kind, pattern in _FICKLE_CLASSES if pattern.match(simple)), "")


def qualified(name: Name, namespace: Name, temporaries: frozenset[str] = frozenset()) -> str:
    """The full name of a function that a body or a view calls.

    >>> qualified(("f",), ("c", "s")), qualified(("s", "f"), ("c", "t")), qualified(("f",), ())
    ('`c`.`s`.`f`', '`c`.`s`.`f`', '`f`')
    """
    if len(name) == 1 and name[0].lower() not in temporaries:
        name = (*namespace, *name)
    elif len(name) == 2:
        name = (*namespace[:1], *name)
    return ".".join(map(quote, name))


def has_names_in_values(tree: exp.Expr) -> bool:
    """Whether a VALUES clause has names in it: of variables, whose values no plan shows.

    >>> [has_names_in_values(parse(f"select a from values ({row}) as v(a)")) for row in ("1, x", "1")]
    [True, False]
    """
    return any(values.find(exp.Column) for values in tree.find_all(exp.Values))


def put_names(query: exp.Query, names: Mapping[str, Name]) -> exp.Query:
    """A query with functions named in full, so that the query means the same in any schema. names: by short name."""

    def named(node: exp.Expr) -> exp.Expr:
        if not (isinstance(node, exp.Anonymous) and node.name.lower() in names):
            return node
        around = node.parent
        if isinstance(around, exp.Dot) and around.expression is node or isinstance(around, exp.Table):
            return node
        parts = [exp.to_identifier(part, quoted=True) for part in names[node.name.lower()][:-1]]
        return exp.Dot.build([*parts, node.copy()])

    return cast("exp.Query", query.transform(named))


# ---- values that arguments do not decide ----------------------------------------------------------------------------

_WORDS = r"\s*(?:now|today|tomorrow|yesterday)\b[^'\"]*"
#: `timestamp 'now'`, `cast('today' as date)`, `'now'::timestamp`: Spark replaces this text by its clock
_SPECIAL = re.compile(
    rf"\b(?:timestamp|date|timestamp_ntz|timestamp_ltz)\s*r?['\"]{_WORDS}['\"]|"
    rf"['\"]{_WORDS}['\"]\s*(?:as\s+(?:date|timestamp)|::)",
    re.IGNORECASE,
)


def nondeterminism(sql: str) -> str:
    """The source of values in a text besides rows, arguments and the session (`a clock`, `chance`); "" for none.

    >>> nondeterminism("select x + 1"), nondeterminism("select current_date"), nondeterminism("select rand()")
    ('', 'a clock', 'chance')
    >>> nondeterminism("select date'today'"), nondeterminism("select `now`()")
    ('a clock', 'a clock')
    >>> nondeterminism("select * from t tablesample (5 rows)")
    'chance'
    """
    if _SPECIAL.search(sql):
        return CLOCK
    kinds = [CLOCK, FILES]
    try:
        node = nondeterministic(parse(sql))
        if node is not None:
            return CLOCK if isinstance(node, exp.Func) and by_name(node).depends_on == CLOCK else CHANCE
    except Refusal:
        kinds = [kind for kind in _CALLS if kind != SESSION]
    plain = re.sub(r"'(?:[^'\\]|\\.)*'|`[^`]*`", "''", sql)
    return next((kind for kind in kinds if _CALLS[kind].search(plain)), "")


def of_session(sql: str) -> bool:
    """Whether a text or a plan reads the user, the current schema or the like."""
    return bool(_CALLS[SESSION].search(sql))


def _calls(kind: str) -> re.Pattern[str]:
    names = registry.names(lambda row: row.depends_on == kind and row.arguments is None)
    bare = names & registry.names(lambda row: row.bare)
    also = [rf"\b(?:{'|'.join(sorted(bare))})\b(?!#)"] if bare else []
    empty = registry.names(lambda row: row.depends_on == kind and row.arguments == 0)
    also += [rf"\b{name}\s*\(\s*\)" for name in sorted(empty)]
    return re.compile("|".join([rf"\b(?:{'|'.join(sorted(names))})\s*\(", *also]), re.IGNORECASE)


_CALLS = {kind: _calls(kind) for kind in (CLOCK, CHANCE, PLACE, CODE, FILES, SESSION)}
