"""What `produce` and `seed` have in common: which generators are meant, and how sending is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from millstream.cli.options import Common
from millstream.cli.output import console
from millstream.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.kafka.clients import Admin
from millstream.kafka.generators import generators_of
from millstream.kafka.topics import Topic, create_missing, source_topic
from millstream.project.values import Generator, Project
from millstream.project.values import Topic as SourceTopic

Made = tuple[Generator, SourceTopic]


def chosen_generators(project: Project, names: Sequence[str]) -> list[Made]:
    """Return the generators that names mean: of a topic, a source, or their own; without names, all."""
    made = generators_of(project)
    if not names:
        if not made:
            remedy = "write `def TOPIC(random, now)` in a file of seeds/, which yields keys and values"
            raise MillstreamError(Diagnostic("MS834", "the project has no generators", None, remedy))
        return list(made.values())
    by_name: dict[str, list[Made]] = {}
    for id_, (generator, topic) in made.items():
        for name in {id_, topic.name, topic.topic, generator.name}:
            by_name.setdefault(name, []).append((generator, topic))
    problems = [_unknown(project, name, by_name) for name in names if name not in by_name]
    if problems:
        raise MillstreamError(*problems)
    found = {topic.id: (generator, topic) for name in names for generator, topic in by_name[name]}
    return list(found.values())


def _unknown(project: Project, name: str, known: dict[str, list[Made]]) -> Diagnostic:
    sources = {each for topic in project.sources.values() for each in (topic.id, topic.name, topic.topic)}
    if name in sources:
        remedy = f"write `def {name.rpartition('.')[2]}(random, now)` in a file of seeds/"
        return Diagnostic("MS834", f"the source '{name}' has no generator", None, remedy)
    listed = ", ".join(sorted({generator.name for each in known.values() for generator, _ in each}))
    remedy = did_you_mean(name, known, f"generators: {listed}" if listed else "write one in seeds/")
    return Diagnostic("MS834", f"there is no generator '{name}'", None, remedy)


def ready_topics(admin: Admin, made: Sequence[Made]) -> tuple[str, ...]:
    """Create missing topics on our own broker; elsewhere they are somebody else's, and must be there."""
    wanted: dict[str, Topic] = {topic.topic: source_topic(topic) for _, topic in made}
    if admin.cluster.embedded:
        return create_missing(admin, wanted.values())
    there = admin.metadata().topics
    remedy = "create it, mend `topic:` of the source, or look at `bootstrap_servers` of the target"
    missing = [
        Diagnostic("MS827", f"there is no topic '{name}'", None, did_you_mean(name, there, remedy))
        for name in wanted
        if name not in there
    ]
    if missing:
        raise MillstreamError(*missing)
    return ()


@contextmanager
def sending(common: Common, totals: dict[str, int | None]) -> Iterator[Callable[[str, int], None] | None]:
    """Yield what to call with a topic and how many of its records were sent; a bar a topic on a terminal."""
    screen = None if common.look.json or common.look.quiet else console(common.look, sys.stderr)
    if screen is None or not screen.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks = {topic: bar.add_task(topic, total=total, start=True) for topic, total in totals.items()}
        yield lambda topic, sent: bar.update(tasks[topic], completed=sent)
