"""The micro-batches of a stream: those that a test asks for, and empty ones in which event time goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.testing.units.plan import UnitTestPlan
from millstream.testing.units.values import GivenRow, UnitTestCase


class Batch(Struct, frozen=True):
    """A micro-batch: which rows of which input come in it."""

    step: int
    rows: Mapping[str, tuple[GivenRow, ...]] = {}
    """By relation."""
    last: bool = False
    """It is the last of its step: event time goes on after it."""
    reached: int | None = None
    """Where the watermark is then, at least; milliseconds."""


def batch_per_step(test: UnitTestCase) -> tuple[Batch, ...]:
    """Return a micro-batch for each step, as the test has them."""
    return tuple(
        Batch(index, {given.relation: given.rows for given in step.given}, last=True)
        for index, step in enumerate(test.steps)
    )


def schedule(
    batches: Sequence[Batch], test: UnitTestCase, plan: UnitTestPlan, *, each_step: bool
) -> tuple[Batch, ...]:
    """Return the micro-batches of a query.

    The watermark of a batch is what those before it have reached, and Spark drops late rows by that of the
    batch before. So an empty one follows where event time goes on; and where windows close, one in which that
    comes out which is over: after each step, or once at the end.
    """
    found: list[Batch] = []
    for batch in batches:
        at = test.steps[batch.step].at if batch.last else None
        if any(batch.rows.values()) or not found:
            found.append(batch)
        if at is not None:
            found[-1] = replace(found[-1], reached=int(at.timestamp() * 1000) - plan.delay)
        over = plan.closes and batch.last and (each_step or batch is batches[-1])
        if over or at is not None:
            found.append(Batch(batch.step))
    return tuple(found)
