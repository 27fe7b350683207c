"""Several runs of a target: each starts queries that no other one runs, and changes nothing deployed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.planning.query_selection import choose_queries, computing_queries
from millstream.deploy.planning.stages import Continue, Create, Refuse, Stage, Start
from millstream.deploy.values import Job
from millstream.engine.spark.query_locks import QueryLocks
from millstream.queries.values import Query

_POLL = 0.5


class TargetSharing(Struct, frozen=True, eq=False):
    """What a run knows of the others that share its target."""

    locks: QueryLocks
    setup: ExitStack
    """Holds the setup lock until this run has started."""
    others: Mapping[str, str] = {}
    """The queries of other runs when this one started, with who runs them."""

    def queries(self, job: Job) -> list[Query]:
        """Return the queries of a job, without reference topics that another run stores already."""
        return own_queries(job, self.others)

    def take(self, queries: Sequence[Query]) -> None:
        """Lock queries until this run ends."""
        if taken := self.locks.take([query.name for query in queries]):
            raise already_run(taken)

    def check(self, stages: Sequence[Stage]) -> None:
        """Refuse to change a deployment that other runs share."""
        if self.others and not all(isinstance(stage, Start | Continue | Create | Refuse) for stage in stages):
            raise must_change()


def own_queries(job: Job, others: Collection[str]) -> list[Query]:
    queries = choose_queries(job.physical.queries, job.models)
    if job.models is None:
        return queries
    selected = {query.name for query in computing_queries(queries, job.models)}
    return [query for query in queries if query.name in selected or query.name not in others]


def enter_target(
    locks: QueryLocks,
    needed: Callable[[Collection[str]], Collection[str]],
    waiting: Callable[[str], object] | None,
) -> TargetSharing:
    """Enter the setup once no other run has the needed queries; with `waiting`, wait until that is so."""
    while True:
        with ExitStack() as setup:
            setup.enter_context(locks.setup())
            others = locks.others()
            names = needed(others) if others else ()
            taken = {name: others[name] for name in names if name in others}
            if not taken:
                return TargetSharing(locks, setup.pop_all(), others)
        if waiting is None:
            raise already_run(taken)
        waiting(next(iter(taken.values())))
        waiting = _silently
        time.sleep(_POLL)


def _silently(_: str) -> None:
    """Wait without saying it again."""


def already_run(taken: Mapping[str, str]) -> MillstreamError:
    """Return an error that names the queries which other runs have."""
    names, by = ", ".join(taken), ", ".join(dict.fromkeys(taken.values()))
    several = len(taken) > 1
    message = f"{by} already runs the {'queries' if several else 'query'} {names}"
    remedy = "select models of other queries (`millstream explain` shows them), stop that run, or use --wait"
    return MillstreamError(Diagnostic("MS874", message, None, remedy))


def must_change() -> MillstreamError:
    message = "this run would change a deployment that other runs share"
    remedy = "stop the other runs, run `millstream apply`, and start all runs again"
    return MillstreamError(Diagnostic("MS673", message, None, remedy))
