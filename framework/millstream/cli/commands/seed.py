"""`millstream seed`."""

from __future__ import annotations

import click

from millstream.cli.jar_progress import fetching
from millstream.cli.options import Common, common
from millstream.cli.output import finish
from millstream.cli.project import root_of
from millstream.cli.traffic import chosen_generators, ready_topics, sending
from millstream.errors import Diagnostic, MillstreamError
from millstream.kafka.cluster import is_embedded
from millstream.kafka.opening import connected
from millstream.kafka.producing import FILL, fill_empty
from millstream.project.load import load_project


@click.command(
    "seed",
    epilog="\b\nExamples:\n  millstream seed\n  millstream seed orders --count 100000",
)
@common()
@click.argument("topics", nargs=-1)
@click.option(
    "--count", type=click.IntRange(min=1), default=FILL, show_default=True, help="Records per topic."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed.")
def command(common: Common, *, topics: tuple[str, ...], count: int, seed: int) -> int:
    """Fill the empty topics of the local broker with records from seeds/*.py.

    Topics that have ever held records are skipped. `millstream build` does the same before it starts. CSV
    files in seeds/ need no seeding: models read them directly.
    """
    project = load_project(root_of(common), common.target, common.vars, common.profiles_dir)
    if not is_embedded(project.target):
        message = f"the target '{project.target.name}' has a Kafka of its own"
        remedy = "use a target with `kafka: embedded`, or send traffic with `millstream produce`"
        raise MillstreamError(Diagnostic("MS837", message, None, remedy))
    made = chosen_generators(project, topics)
    names = list(dict.fromkeys(topic.topic for _, topic in made))
    with fetching(common.look) as fetched, connected(project, fetched) as admin:
        ready_topics(admin, made)
        with sending(common, dict.fromkeys(names, count)) as progress:
            filled = fill_empty(admin, project, names, count, seed, progress)
    left = [name for name in names if name not in filled]
    result = {"filled": filled, "left": left, "seed": seed}
    return finish(common.look, result=result, text=None if common.look.quiet else _text(filled, left))


def _text(filled: dict[str, int], left: list[str]) -> str:
    width = max(map(len, (*filled, *left)))
    lines = [f"{topic:<{width}}  {count:>10,} records" for topic, count in filled.items()]
    lines += [f"{topic:<{width}}  had records before" for topic in left]
    return "\n".join(lines)
