"""`millstream plan`."""

from __future__ import annotations

from millstream.cli.deployment import plan_deployment, summarize_deployment
from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import CommonOptions, SelectionRequest, StateOptions, accept_option, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import models_in, root_of
from millstream.cli.review_output import format_review, review_options
from millstream.core.gc_pause import collector_paused


@cli_command(
    "plan",
    "millstream plan",
    "millstream plan --target production --ask-kafka",
    "millstream plan --output json --fail-on rebuild",
    formats=("markdown",),
    kind=SeveralValues,
    environments=True,
)
@review_options
@accept_option
@collector_paused()
def command(
    common: CommonOptions, changes: StateOptions, *, fail_on: tuple[str, ...], ask_kafka: bool
) -> int:
    """Show what `apply` would do to a target.

    Reviews the project against what runs there. The signatures stored next to the checkpoints show which
    queries continue, which are rebuilt, and why. Columns, topics and tables are compared with the models as
    they were last started. Nothing is run or changed.
    """
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, SelectionRequest(), changes)
    deployment = plan_deployment(common, root, compiled, job, ask_kafka=ask_kafka)
    data, text = format_review(deployment.review, common.output, common.style.target)
    if common.output == "json":
        data |= {"rebuilds": [rebuild.name for rebuild in deployment.rebuilds]}
        data |= {"older_rows": deployment.older}
    elif common.output == "text":
        text = text + f"\n\n{summarize_deployment(deployment, common.style.target)}"
    code = print_result(common.style, diagnostics, result=data, text=text, models=models_in(compiled))
    return code or (1 if set(fail_on) & set(deployment.review.levels) else 0)
