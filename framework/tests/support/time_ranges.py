"""Records of some days, and the ranges of a table `raw` that a test computes again."""

from datetime import datetime, timezone

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.ranges import RequestedTimes, ranges_of
from millstream.deploy.values import RangeReplaced
from millstream.queries.verdict import AcceptedModels
from support.runs import built, errors, job_of

RAW = NodeId("model", "raw")
ACCEPTED = AcceptedModels(stored=frozenset({RAW}))


def sent_on(day, number, hour=12, minute=0):
    """Return a record of January 2026."""
    time = f"2026-01-{day:02}T{hour:02}:{minute:02}:00Z"
    return ("a", {"id": number, "kind": "x", "value": float(number), "at": time})


def day(number, hour=0):
    return datetime(2026, 1, number, hour, tzinfo=timezone.utc)


def replaced(shop, spark, start, end, **how):
    """Build, and compute a range again; return what was replaced, or why it was not."""
    job = job_of(shop.root)
    ranges = ranges_of(job.topology, job.project, None, RequestedTimes(start, end))
    intent = Update(accepted=ACCEPTED, ranges=ranges, **how)
    _, events = built(shop.root, spark, intent=intent)
    if failed := errors(events):
        return failed
    return [(event.rows, event.before) for event in events if isinstance(event, RangeReplaced)]
