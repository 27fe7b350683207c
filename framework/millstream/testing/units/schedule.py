"""The micro-batches of a stream: those of the test, and empty ones in which event time advances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.testing.units.plan import UnitTestPlan
from millstream.testing.units.values import GivenRow, UnitTestCase


class MicroBatch(Struct, frozen=True):
    """A micro-batch with the rows of each relation."""

    step: int
    rows: Mapping[NodeId, tuple[GivenRow, ...]] = {}
    last: bool = False
    """The last batch of its step, after which event time advances."""
    reached: int | None = None
    """The minimum watermark after the batch, in milliseconds."""


def batch_per_step(test: UnitTestCase) -> tuple[MicroBatch, ...]:
    return tuple(
        MicroBatch(index, {step_input.relation: step_input.rows for step_input in step.inputs}, last=True)
        for index, step in enumerate(test.steps)
    )


def schedule_batches(
    batches: Sequence[MicroBatch], test: UnitTestCase, plan: UnitTestPlan, *, each_step: bool
) -> tuple[MicroBatch, ...]:
    """Return the micro-batches of a query.

    Spark sets the watermark of a batch from earlier batches, and drops late rows by the watermark of the
    previous batch. So an empty batch follows where event time advances. Where windows close, another empty
    batch emits the closed ones: after each step, or once at the end.
    """
    scheduled: list[MicroBatch] = []
    for batch in batches:
        event_time = test.steps[batch.step].event_time if batch.last else None
        if any(batch.rows.values()) or not scheduled:
            scheduled.append(batch)
        if event_time is not None:
            scheduled[-1] = replace(scheduled[-1], reached=int(event_time.timestamp() * 1000) - plan.delay)
        emits_closed = plan.closes and batch.last and (each_step or batch is batches[-1])
        if emits_closed or event_time is not None:
            scheduled.append(MicroBatch(batch.step))
    return tuple(scheduled)
