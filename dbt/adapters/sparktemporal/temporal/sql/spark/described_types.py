"""Types in the words of DESCRIBE: read, and written.

struct<a:int,b:array<decimal(3,1)>>     the fields a and b; the elements of b
struct<a b:int>                         not read: DESCRIBE does not quote the names of fields
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..text.dialect import render
from .combined_types import VOID

#: other names of types
_NAMES = {"text": "string", "varchar": "string", "timestamp_ltz": "timestamp"}
#: the numbers of a type that may be left out, where they are
_NUMBERS = {exp.DType.DECIMAL: (10, 0), exp.DType.TIME: (6,)}


def in_words(kind: exp.Expr) -> str:
    """A type as DESCRIBE writes it.

    >>> from ..text.dialect import expression
    >>> [in_words(expression(f"CAST(a AS {kind})").args["to"]) for kind in ("NUMERIC(3)", "ARRAY<DECIMAL>", "TIME")]
    ['decimal(3,0)', 'array<decimal(10,0)>', 'time(6)']
    >>> inner("struct<a:time(3)>", "a")
    'time(3)'
    """
    kind = kind.copy()
    for part in kind.find_all(exp.DataType):
        given = part.expressions
        for number in _NUMBERS.get(part.this, ())[len(given) :]:
            part.append("expressions", exp.DataTypeParam(this=exp.Literal.number(number)))
    said = render(kind).lower().replace(", ", ",").replace(": ", ":")
    return _NAMES.get(said, said)


def parsed(kind: str | None) -> exp.DataType | None:
    """A type of DESCRIBE, read; None for one that cannot be: DESCRIBE does not quote the names of fields.

    >>> [parsed(kind) is not None for kind in ("map<string,struct<C:decimal(3,1)>>", "struct<a:time(3)>", "variant")]
    [True, True, True]
    >>> [parsed(kind) for kind in ("struct<a b:int>", "struct<a-b:int>", "struct<a:b:int>", "array<void>", None)]
    [None, None, None, None, None]
    >>> parsed("struct<int,b:int>")  # one field, of the name `int,b`
    """
    if kind is None:
        return None
    with suppress(SqlglotError):
        read = exp.DataType.build(kind, dialect="spark")
        is_whole = all(isinstance(field, exp.ColumnDef) for field in _fields(read))
        if is_whole and in_words(read) == kind.lower().replace(", ", ","):
            return read
    return None


def _fields(kind: exp.DataType) -> Iterator[exp.Expr]:
    """The fields of a type and of the types within."""
    for part in kind.find_all(exp.DataType):
        yield from part.expressions if part.is_type(exp.DType.STRUCT) else ()


def inner(kind: str | None, field: str) -> str | None:
    """The type of a field of a struct; of the elements of an array; of the values of a map.

    >>> inner("struct<a:int,b:string collate UTF8_LCASE>", "B"), inner("map<int,string collate UTF8_LCASE>", "")
    ('string collate utf8_lcase', 'string collate utf8_lcase')
    """
    if kind == f"array<{VOID}>":
        return VOID
    read = parsed(kind)
    if read is None or not read.is_type(exp.DType.STRUCT, exp.DType.ARRAY, exp.DType.MAP):
        return None
    if read.is_type(exp.DType.STRUCT):
        found = [f for f in read.expressions if f.name.lower() == field.lower()]
        if len(found) != 1:
            return None
        return " ".join(map(in_words, [found[0].args["kind"], *(found[0].args.get("constraints") or [])]))
    return None if field else in_words(read.expressions[-1])


def struct_fields(kind: str, path: Sequence[str]) -> list[str] | None:
    """The names of the fields of a struct, or of the struct at a path of fields in it; None where they are not known.

    >>> struct_fields("struct<b:int,C:struct<D:decimal(3,1)>>", []), struct_fields("struct<C:struct<D:int>>", ["c"])
    (['b', 'C'], ['D'])
    >>> struct_fields("array<int>", []), struct_fields("struct<a b:int>", [])
    (None, None)
    """
    read: exp.Expr | None = parsed(kind)
    for name in path:
        fields = [] if read is None else [field for field in read.expressions if field.name.lower() == name.lower()]
        read = fields[0].args.get("kind") if len(fields) == 1 else None
    if read is None or not read.is_type(exp.DType.STRUCT):
        return None
    return [field.name for field in read.expressions]
