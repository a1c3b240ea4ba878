"""What must hold in each state of the search; each returns what is wrong, "" for nothing."""

from __future__ import annotations

from .steps import OPERATIONS, tables_of
from .world import Rules, World


def a_reader_sees_one_commit_whole(world: World, rules: Rules) -> str:
    """A query has all tables of the commit that it planned with, to its end, and no view shows what is not committed.

    With diffs_retention '0' a query may end with an error.
    """
    if world.published.run not in world.committed:
        return f"<model>__diffs shows {world.published.run}, which is not committed"
    failed = [a for a in world.actors if a.kind == "reader" and a.ended == "failed"]
    return f"the tables of a query of {failed[0].name} are gone" if failed and rules.keeps else ""


def no_commit_names_a_table_that_is_gone(world: World, rules: Rules) -> str:
    """All tables of the last commit are there: those that a view reads, and those that the state alone names."""
    gone = world.live.tables - world.tables
    return f"the commit of {world.live.run} names {', '.join(sorted(gone))}, which is gone" if gone else ""


def no_rows_of_a_committed_run_are_lost(world: World, rules: Rules) -> str:
    """A commit covers all rows that a commit before covered."""
    is_lost = world.live.rows < world.most
    return f"the commit of {world.live.run} covers {world.live.rows} of {world.most} rows" if is_lost else ""


def the_frontier_never_goes_back(world: World, rules: Rules) -> str:
    """Updates up to a frontier are final."""
    is_back = world.live.frontier < world.latest
    return f"the frontier goes back from {world.latest} to {world.live.frontier}" if is_back else ""


def what_a_loser_wrote_is_dropped(world: World, rules: Rules) -> str:
    """A run that fails before its commit is sent leaves no table when it ends.

    What a killed run, a run in doubt about its commit, an operation or a statement without a client leaves, goes by
    the sweep of a run a day later: `Found.left` is tried with the product's sweep.
    """
    for actor in world.actors:
        if actor.ended != "failed" or actor.at or actor.in_doubt or actor.kind in (*OPERATIONS, "reader"):
            continue
        if left := tables_of(world, frozenset({actor.name})):
            return f"{actor.name} has failed, and {', '.join(left)} is there"
    return ""


def the_updates_are_those_of_the_last_commit(world: World, rules: Rules) -> str:
    """When nobody is at work any more. What is left by an actor that did not end well, the next run mends."""
    behind = is_behind(world)
    return (
        f"<model>__diffs shows {world.published.run}, {world.live.run} is committed"
        if behind == ("done", "done")
        else ""
    )


def is_behind(world: World) -> tuple[str, str] | None:
    """How the run that had to publish ended, and how the one that published last, where `<model>__diffs` is behind."""
    if any(a.at for a in world.actors) or world.published.chains == world.live.chains:
        return None
    name = world.live.run.rstrip("'")
    last = world.actor(name)  # none wrote the commit of the beginning
    is_request = last is not None and last.kind == "request"
    wrote = {t.split(".")[0].rstrip("'") for t in world.live.chains} if is_request else {name}
    return _ended(world, wrote), _ended(world, {world.publisher.rstrip("'")})


def _ended(world: World, names: set[str]) -> str:
    """How some actors have ended; done where all are done."""
    ends = {a.ended for a in world.actors if a.name in names}
    return next((end for end in ("killed", "failed") if end in ends), "done")


INVARIANTS = (
    a_reader_sees_one_commit_whole,
    no_commit_names_a_table_that_is_gone,
    no_rows_of_a_committed_run_are_lost,
    the_frontier_never_goes_back,
    what_a_loser_wrote_is_dropped,
    the_updates_are_those_of_the_last_commit,
)
