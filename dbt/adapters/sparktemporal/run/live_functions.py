"""Refusals of functions and variables: a view cannot name them, or their values change without a run.

| called by | evaluated | so a function |
|---|---|---|
| a core | by a run, which stores the value | must read no clock and no random value |
| the residual | at each read of the view | must also outlive the session, and must not read tables |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ..errors import Refusal
from ..inputs.changing.query_fingerprint import Routines
from ..temporal.rewrite.model import Model
from ..temporal.sql.functions import registry
from ..temporal.sql.functions.row import CLOCK
from ..temporal.sql.spark import plans, routines
from ..temporal.sql.spark.routines import Name, Routine
from ..temporal.sql.text.dialect import brief, fragment, parse, render
from ..temporal.sql.text.grammar import OF_SPARK


def refuse_and_name(model: Model, known: Routines) -> Model:
    """Name the functions of the residual in full -> the model. Raises Refusal for a function that may not be called."""
    called = known.called(model.parsed.tree)
    if not called:
        return model
    for name, routine in called.items():
        _refuse_shadowing(name, routine)
        every = known.below([routine])
        _refuse_unplaced(name, routine, every, known)
        _refuse_nondeterministic(name, routine, every)
    residual = parse(model.residual)
    at_read = {name: called[name] for name in routines.called_in(residual) if name in called}
    for name, routine in at_read.items():
        _refuse_at_read(name, routine, known)
    full = {name[0].lower(): _parts(routine) for name, routine in at_read.items() if len(name) == 1}
    return replace(model, residual=render(routines.put_names(residual, full))) if full else model


def _refuse_shadowing(name: Name, routine: Routine) -> None:
    """Refuse a function under the name of one of Spark's own."""
    *schema, own = (part.lower() for part in name)
    if not schema and own in registry.KNOWN or schema == [OF_SPARK[-1]] and own in registry.SPARKS:
        raise Refusal(
            "ST366",
            f"{'.'.join(name)}(...), which is not Spark's own here but {routine.name}",
            "versions of Spark that have a function of that name put theirs in its place, and the model would "
            "mean another query",
            f"its schema before its name (a_schema.{name[-1]}(...)), or another name",
        )


def _refuse_nondeterministic(name: Name, routine: Routine, every: Sequence[Routine]) -> None:
    """Refuse a function that reads a clock or a random value. every: the function, and all functions below it."""
    cause = next((below for below in every if below.why), None)
    if cause is not None:
        raise Refusal(
            "ST367",
            f"{'.'.join(name)}(...), {_through(routine, cause)} {cause.why} in it"
            + (f": {brief(cause.body)}" if cause.body else ""),
            "its value is that of whoever evaluates it, a run or a read, and not that of the instant asked for",
            "the body of the function in the model, with mz_now() for the clock"
            if cause.why == CLOCK and cause.body
            else "mz_now() for the clock"
            if cause.why == CLOCK
            else "the value as a column of an upstream table",
        )


def _refuse_unplaced(name: Name, routine: Routine, every: Sequence[Routine], known: Routines) -> None:
    """Refuse a function whose body calls another function without the schema of the other function.

    The other function is unknown, and may read a clock.
    """
    for below in every:
        own = known.warehouse.system_functions() if below.unplaced else frozenset()
        unplaced = [called for called in below.unplaced if called.lower() not in own]
        if unplaced:
            through = "" if below is routine else f"which calls {below.name}, "
            raise Refusal(
                "ST368",
                f"{'.'.join(name)}(...), {through}whose body calls {unplaced[0]} without its schema",
                "this version of Spark does not tell where a body looks for names, so it is not known what is called",
                f"CREATE OR REPLACE FUNCTION with the schema before {unplaced[0]}",
            )


def _refuse_at_read(name: Name, routine: Routine, known: Routines) -> None:
    for below in known.below([routine]):
        if below.reads_tables:
            raise Refusal(
                "ST369",
                f"{'.'.join(name)}(...), {_through(routine, below)} a table in it: {brief(below.body or '')}",
                "it is evaluated when the view is read, so what it reads would be of then and not of the last run, "
                "for past instants too",
                "the query of the function in the model itself (a CTE or a join), or the function called below the "
                "SELECT with mz_now()",
            )
    if routine.is_temporary:
        raise Refusal(
            "ST370",
            f"{'.'.join(name)}(...), a function of this session",
            "it is evaluated when the view is read, and a view can only name functions that outlive the session",
            "CREATE FUNCTION without TEMPORARY, or the function called in the SELECT with mz_now() in its WHERE",
        )


def refuse_of_session(model: Model, plan: str, known: Routines) -> None:
    """Refuse parts of a model that depend on the session or on Spark's own clock, as the plan shows.

    | refused | where |
    |---|---|
    | a variable of the session | in the residual |
    | a text that Spark reads as its own clock, such as `today` | in the model |
    | a Python function of the session under the name of one of Spark's own | in the model |
    """
    analyzed = plans.analyzed(plan)
    _refuse_variables(model, analyzed)
    _refuse_clock_texts(model, analyzed)
    untold = any(r.body is None for r in known.below(known.called(model.parsed.tree).values()))
    if plans.runs_python(plan) and not untold and not re.search(r"\bView \(`[^`]*`,", analyzed):
        raise Refusal(
            "ST371",
            "a function of Python under the name of one of Spark's own",
            "neither the text of the model nor its view would tell the two apart",
            "a name of its own for the function",
        )


def _refuse_variables(model: Model, analyzed: str) -> None:
    variables = {name.lower() for name in plans.variables(analyzed)}
    for column in parse(model.residual).find_all(exp.Column):
        if column.name.lower() in variables and column.table.lower() in ("", "session"):
            raise Refusal(
                "ST372",
                f"{fragment(column)}, a variable of this session",
                "it is evaluated when the view is read, and a view can name no variables",
                f"a dbt variable, {{{{ var('{column.name}') }}}}, or this one in the SELECT with mz_now() in its WHERE",
            )


def _refuse_clock_texts(model: Model, analyzed: str) -> None:
    for literal in model.parsed.tree.find_all(exp.Literal):
        if literal.is_string and re.match(r"\s*(now|today|tomorrow|yesterday)\b", literal.name, re.IGNORECASE):
            cast = literal.parent if isinstance(literal.parent, exp.Cast) else None
            typed = cast is not None and re.match("date|timestamp", render(cast.to), re.IGNORECASE)
            if typed or plans.moves_by_itself(analyzed):
                raise Refusal(
                    "ST373",
                    fragment(cast if typed and cast else literal),
                    "Spark puts its clock in its place: that of the run in what is stored, that of the read elsewhere",
                    "mz_now(), or date_trunc('DAY', mz_now())",
                )


def _through(routine: Routine, below: Routine) -> str:
    return "which has" if routine.name == below.name else f"which calls {below.name}, which has"


def _parts(routine: Routine) -> Name:
    parts = tuple(routine.name.split("."))
    return parts if len(parts) == 3 else (routine.name,)
