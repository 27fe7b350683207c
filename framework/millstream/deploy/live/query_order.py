"""The order of queries: those that read what others write come after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from millstream.core.cycles import connected_components
from millstream.queries.values import Query

R = TypeVar("R")


def upstream_queries(queries: Sequence[Query]) -> dict[str, frozenset[str]]:
    """Return the names of the queries that each query waits for.

    Models never form a cycle, but queries can; queries of a cycle don't wait for each other.
    """
    makes = {model: query.name for query in queries for model in query.stored}
    upstream: dict[str, frozenset[str]] = {}
    for query in queries:
        reads = {read.relation for read in query.sources} | {read.relation for read in query.reads}
        upstream[query.name] = frozenset(makes[relation] for relation in reads if relation in makes) - {
            query.name
        }
    for cycle in connected_components({name: sorted(others) for name, others in upstream.items()}):
        for name in cycle:
            upstream[name] -= cycle
    return upstream


def run_in_order(
    queries: Iterable[Query],
    waits: Mapping[str, frozenset[str]],
    after: Mapping[str, frozenset[str]],
    work: Callable[[Query], R],
    skip: Callable[[Query, frozenset[str]], R],
    failed: Callable[[R], bool],
    at_once: int,
    stop: Callable[[], None],
) -> dict[str, R]:
    """Run queries, several at once, each after others; skip those that wait for results of failed ones.

    Queries that come after the same others start in their order. `stop` ends running queries on an interrupt.
    """
    left = {query.name: query for query in queries}
    done: dict[str, R] = {}
    bad: set[str] = set()
    running: dict[Future[R], str] = {}
    with ThreadPoolExecutor(at_once, thread_name_prefix="query") as pool:
        try:
            while left or running:
                for name in list(left):
                    if after[name] & (left.keys() | set(running.values())):
                        continue
                    query = left.pop(name)
                    if causes := waits[name] & bad:
                        done[name] = skip(query, frozenset(causes))
                        bad.add(name)
                    else:
                        running[pool.submit(work, query)] = name
                finished, _ = wait(running, return_when=FIRST_COMPLETED) if running else (set(), None)
                for future in finished:
                    name = running.pop(future)
                    done[name] = future.result()
                    if failed(done[name]):
                        bad.add(name)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
    return done
