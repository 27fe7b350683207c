"""Computes ranges of tables again while their queries run: each is held between two batches meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.engine import Engine
from millstream.deploy.handover.values import RangeRequest
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.planning.stages import ReplaceRange
from millstream.deploy.stages.replace_range import replace_ranges


def replace_in_run(
    live: LiveQueries, engine: Engine, request: RangeRequest, go_on: Callable[[], None]
) -> None:
    if request.manifest != engine.job.manifest:
        raise _refused("the project is another version than the run", "deploy it with `millstream apply`")
    writers = {model: supervised for supervised in live.all() for model in supervised.query.stored}
    if missing := [model.shown_name for model in request.ranges if model not in writers]:
        raise _refused(
            f"the run does not compute {', '.join(missing)}", "stop the run, and repeat the command"
        )
    for model, part in request.ranges.items():
        supervised = writers[model]
        go_on()
        with supervised.between_batches() as done:
            if done is None:
                message = f"the last batch of {supervised.query.title} is not complete"
                raise _refused(message, "repeat the command once the query runs")
            record = engine.record(supervised.query)
            if record is not None and model in record.left_out:
                message = f"{model.shown_name} failed, and is left out of {supervised.query.name}"
                raise _refused(message, "fix it, and repeat the command once it has joined its query again")
            stage = ReplaceRange(supervised.query.name, {model: part}, request.fewer_rows)
            try:
                replace_ranges(engine, supervised.query, stage)
            except Exception as error:
                raise MillstreamError(engine.diagnostic(supervised.query, error)) from error


def _refused(why: str, remedy: str) -> MillstreamError:
    return MillstreamError(Diagnostic("MS898", f"no range was computed: {why}", None, remedy))
