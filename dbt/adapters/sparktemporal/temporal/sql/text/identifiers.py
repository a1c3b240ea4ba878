"""Names of schemas, tables and views, compared as Spark compares them.

| `spark.sql.caseSensitive` | false | true |
|---|---|---|
| relations of a Hive metastore, which keeps their names in lower case | found in any case | found in any case |
| relations of a catalog that keeps case (Iceberg: hadoop, jdbc, REST) | found as written | found as written |
| columns, CTEs, aliases, temporary views | found in any case | found as written |

So the setting decides nothing about a relation: a schema, table or view. This module compares names of relations
without case, in every catalog. Where a catalog keeps case, two names that differ by case alone are taken for one name:
the existing relation is kept, and a run that would collide with it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .dialect import quote

#: Spark's own catalog, the current one unless a session chooses another
SESSION_CATALOG = "spark_catalog"
#: one part of a name in a plan of Spark. Spark leaves a part of letters, digits and `_` without quotes
PART = r"(?:`(?:[^`]|``)+`|[^\s`.,\[\]()]+)"


def folded(name: str) -> str:
    """The form that all spellings of one relation's name share.

    >>> folded("MyModel__Diffs") == folded("mymodel__diffs")
    True
    """
    return name.lower()


class Identifiers:
    """Names of one schema as they were written, looked up in any case.

    >>> there = Identifiers(["mymodel__live", "Other"])
    >>> "MyModel__live" in there, there.find("OTHER"), there.find("mine")
    (True, 'Other', None)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: dict[str, str] = {}
        for name in names:
            self._names.setdefault(folded(name), name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and folded(name) in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.values())

    def __len__(self) -> int:
        return len(self._names)

    def find(self, name: str) -> str | None:
        """The name as it was written; None when it is not among the names."""
        return self._names.get(folded(name))


def parts(name: str) -> list[str]:
    """A name as Spark prints it, or as SQL text has it -> its parts.

    >>> parts("spark_catalog.s.t"), parts("`s`.`a.b`"), parts("c.s.`we``ird`")
    (['spark_catalog', 's', 't'], ['s', 'a.b'], ['c', 's', 'we`ird'])
    """
    found = re.findall(PART, name)
    return [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in found]


def quoted(name: str) -> str:
    """A name as Spark prints it -> the name with each of its parts in quotes.

    >>> quoted("spark_catalog.s.`a.b`")
    '`spark_catalog`.`s`.`a.b`'
    """
    return ".".join(map(quote, parts(name)))


def dotted(names: Iterable[str]) -> str:
    """Parts -> one name, quoted only where necessary, as in Spark's plans.

    >>> dotted(["spark_catalog", "s", "t"]), dotted(["s", "a.b"])
    ('spark_catalog.s.t', 's.`a.b`')
    """
    plain = re.compile(r"(?!\d+$)\w+", re.ASCII)
    return ".".join(n if plain.fullmatch(n) else quote(n) for n in names)


def within(names: Sequence[str], catalog: str) -> list[str]:
    """The parts of a name. The current catalog (`catalog`) is left out, as SQL may leave it out.

    >>> within(["lake", "s", "t"], "lake"), within(["lake", "s", "t"], "spark_catalog"), within(["s", "t"], "lake")
    (['s', 't'], ['lake', 's', 't'], ['s', 't'])
    """
    return list(names[1:] if len(names) > 2 and folded(names[0]) == folded(catalog) else names)


def key(schema: str, model: str) -> str:
    """The key of a model, by which the states of its readers name the model. schema: quoted or not.

    >>> key("`E5`", "MyModel")
    'e5.mymodel'
    """
    return folded(dotted([*parts(schema), model]))
