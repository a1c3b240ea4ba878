"""The fingerprint of a query: its plan, its views and functions, and the session, but not the rows of its inputs.

Spark's plan shows tables, columns and variables. The plan does not show the body of a function, the rows of a temporary
view, or the user. The fingerprint has what Spark tells about these on request. Where Spark tells nothing, the query is
read in full at each run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ...engine.descriptions import ViewInfo
from ...engine.warehouse import Warehouse
from ...errors import without_trace
from ...temporal.sql.names.parsed_model import ParsedModel
from ...temporal.sql.spark import plans, routines
from ...temporal.sql.spark.errors import Cause, SparkError
from ...temporal.sql.spark.routines import Name, Routine
from ...temporal.sql.text import identifiers
from ...temporal.sql.text.identifiers import SESSION_CATALOG, folded
from ..views.expansion import made_otherwise

#: for each part of a fingerprint, in order: the words for a change since the last run
PARTS = (
    "a view below changed",
    "Spark plans it otherwise: a table, a column or a variable changed",
    "a function it calls changed",
    "the user, the current schema or the version of Spark changed",
)
_ASKED = "SELECT current_user(), current_catalog(), current_database(), version()"


@dataclass(frozen=True)
class QueryFingerprint:
    """The fingerprint of a query."""

    #: a hash of each part, which the state keeps
    digest: tuple[str, ...]
    #: the reason why rows may change under the same digest; empty for none
    untold: str = ""
    #: whether the query has no views and calls only Spark's own functions: its tables alone decide its meaning
    is_bare: bool = False

    def change(self, before: tuple[str, ...]) -> str:
        """The first difference from an earlier digest, in words; empty for none."""
        if len(self.digest) != len(before):
            return "the last run was of an earlier version, which remembered less of the query"
        return next((why for why, a, b in zip(PARTS, self.digest, before) if a != b), "")


@dataclass
class Routines:
    """The functions of a query that are not Spark's own, each asked for once."""

    warehouse: Warehouse
    _known: dict[str, Routine | None] = field(default_factory=dict)

    def called(
        self, query: str | exp.Expr, namespace: Name = (), temporaries: frozenset[str] = frozenset()
    ) -> dict[Name, Routine]:
        """The functions, except Spark's and Iceberg's own, that a text or its tree calls: name in the text -> function.

        namespace: the schema in which names are looked up. temporaries: the temporary functions, which have no schema.
        """
        names = routines.called(query) if isinstance(query, str) else routines.called_in(query)
        found = {name: self._of(name, namespace, temporaries) for name in names}
        return {name: routine for name, routine in found.items() if routine is not None}

    def below(self, first: Iterable[Routine]) -> list[Routine]:
        """These functions, and all functions that they call, directly or through others."""
        found: dict[str, Routine] = {}
        queue = list(first)
        while queue:
            routine = queue.pop(0)
            if routine.name not in found:
                found[routine.name] = routine
                if routine.body is not None:
                    queue += self.called(routine.body, routine.namespace, routine.temporaries).values()
        return list(found.values())

    def _of(self, name: Name, namespace: Name, temporaries: frozenset[str]) -> Routine | None:
        if name[-1].lower() == "identifier" and len(name) == 1:  # the name of a relation is computed
            return Routine("identifier", "SELECT * FROM identifier('')", "identifier")
        asked = routines.qualified(name, namespace, temporaries)
        if self._is_icebergs(identifiers.parts(asked)):
            return None
        if asked not in self._known:
            try:
                described = self.warehouse.rows(f"DESCRIBE FUNCTION EXTENDED {asked}")
                routine = routines.of_description([str(row[0]) for row in described])
            except SparkError as error:
                if Cause.NO_FUNCTION.is_said_by(error):
                    routine = None  # a word before a parenthesis that is no function
                else:
                    routine = Routine(asked, fingerprint=without_trace(str(error)))
            self._known[asked] = routine
        return self._known[asked]

    def _is_icebergs(self, name: Sequence[str]) -> bool:
        """Whether a function is one of Iceberg's own (`system.bucket`), which Spark cannot describe.

        Iceberg's catalogs have functions in no other schema, and people can make none there.
        """
        if len(name) < 2 or folded(name[-2]) != "system":
            return False
        catalog = name[0] if len(name) > 2 else self.warehouse.catalog()
        return folded(catalog) != SESSION_CATALOG and self.warehouse.is_icebergs(catalog)


def of(warehouse: Warehouse, model: ParsedModel, plan: str, known: Routines, version: str) -> QueryFingerprint:
    """The fingerprint of a query, from its text, and from its plans at an instant that is the same in every run.

    version: of Spark. Versions differ in defaults and functions.
    """
    analyzed = plans.analyzed(plan)
    infos = [(name, warehouse.view(name)) for name in plans.views(analyzed)]
    text, first = model.text, [*known.called(model.tree).values()]
    for _, info in infos:
        if info is not None:
            first += known.called(info.text, info.namespace).values()
    every = known.below(first)
    bodies = [routine.body for routine in every if routine.body]
    asks = any(map(routines.of_session, [analyzed, text, *bodies]))
    session = warehouse.rows(_ASKED) if asks else ""
    parts: Sequence[object] = (
        # the text of a view means what the settings say under which the view was made
        [
            (name, info.text, *filter(None, [made_otherwise(warehouse, name)])) if info else (name, "")
            for name, info in infos
        ],
        plans.plan_text(analyzed),
        sorted((routine.name, routine.fingerprint) for routine in every),
        (version, session),
    )
    return QueryFingerprint(tuple(map(_hash, parts)), _unseen(model, plan, infos, every), not (infos or every))


def _unseen(
    model: ParsedModel, plan: str, infos: Sequence[tuple[str, ViewInfo | None]], every: Sequence[Routine]
) -> str:
    for routine in every:
        if routine.body is None or not routine.is_told:
            return f"nothing tells whether the function {routine.name} is the one of the last run"
        if routine.why:
            return f"the function {routine.name} has {routine.why} in it"
    for name, info in infos:
        if info is None:
            return f"{name} is a temporary view, whose text is not told"
        # where the plan shows the clock or chance, `delta_of` reads in full only the cores over this view
        if not plans.moves_by_itself(plan) and (kind := routines.nondeterminism(info.text)):
            return f"the view {name} has {kind} in it"
    if plans.runs_python(plan):
        return "a function of Python stands in it under the name of one of Spark's"
    if "LocalRelation" in plan and routines.has_names_in_values(model.tree):
        return "VALUES with names in it, which may be variables"
    return ""


def _hash(part: object) -> str:
    return hashlib.sha256(repr(part).encode()).hexdigest()[:12]
