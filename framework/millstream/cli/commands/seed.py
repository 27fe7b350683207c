"""`millstream seed`."""

from __future__ import annotations

import click

from millstream.cli.environments import refuse_environment
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import project_of, root_of
from millstream.cli.traffic import chosen_generators, ready_topics, sending_progress
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.cluster import is_embedded
from millstream.kafka.connection import connect_kafka
from millstream.kafka.producing import FILL, fill_empty


@cli_command("seed", "millstream seed", "millstream seed orders --count 100000")
@click.argument("topics", nargs=-1)
@click.option(
    "--count", type=click.IntRange(min=1), default=FILL, show_default=True, help="Records per topic."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed.")
def command(common: CommonOptions, *, topics: tuple[str, ...], count: int, seed: int) -> int:
    """Fill the empty topics of the local broker with records from seeds/*.py.

    Topics that have ever held records are skipped. `millstream build` does the same before it starts. CSV
    files in seeds/ need no seeding: models read them directly.
    """
    project = project_of(common, root_of(common))
    if not is_embedded(project.target):
        message = f"the target '{project.target.name}' does not use the local broker"
        remedy = "use a target with `kafka: embedded`, or send traffic with `millstream produce`"
        raise MillstreamError(Diagnostic("MS837", message, None, remedy))
    refuse_environment(project.target, "test traffic is sent to the topics of sources")
    generators = chosen_generators(project, topics)
    names = list(dict.fromkeys(topic.topics[0] for _, topic in generators))
    with jar_progress(common.style) as fetched, connect_kafka(project, fetched) as admin:
        ready_topics(admin, (topic for _, topic in generators))
        with sending_progress(common, dict.fromkeys(names, count)) as progress:
            filled = fill_empty(admin, project, names, count, seed, progress)
    skipped = [name for name in names if name not in filled]
    result = {"filled": filled, "left": skipped, "seed": seed}
    return print_result(
        common.style, result=result, text=None if common.style.quiet else _text(filled, skipped)
    )


def _text(filled: dict[str, int], skipped: list[str]) -> str:
    width = max(map(len, (*filled, *skipped)))
    lines = [f"{topic:<{width}}  {count:>10,} records" for topic, count in filled.items()]
    lines += [f"{topic:<{width}}  skipped: has held records before" for topic in skipped]
    return "\n".join(lines)
