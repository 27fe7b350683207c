"""What `review` and `plan` share: options, the statistics behind estimates, and output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from millstream.cli.options import CommonOptions
from millstream.cli.project import project_of
from millstream.cli.remedies import with_options
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from rich.text import Text

    from millstream.cli.remedies import RepeatedOptions
    from millstream.review.rebuild_cost import ReplayFigures
    from millstream.review.values import QueryChange, Review
    from millstream.review.version import ReviewedVersion

_LEVELS = ("breaking", "rebuild", "mixed", "stored", "cost")
_FORMER = {"forward": ("mixed", "stored")}
"""What levels were called before."""


def review_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --fail-on and --ask-kafka."""
    levels = click.option(
        "--fail-on",
        type=click.Choice([*_LEVELS, *_FORMER]),
        multiple=True,
        callback=lambda _context, _option, values: tuple(
            level for value in values for level in _FORMER.get(value, (value,))
        ),
        help="Exit with 1 if the review finds this; may be repeated. `forward` was `mixed` or `stored`.",
    )
    kafka = click.option(
        "--ask-kafka", is_flag=True, help="Read from the target's Kafka what its topics still hold."
    )
    return levels(kafka(function))


def statistics_of(
    common: CommonOptions, root: Path, now: ReviewedVersion, *, ask_kafka: bool
) -> ReplayFigures:
    """Return the statistics behind estimates; Kafka is asked only with --ask-kafka."""
    from millstream.queries.topology import read_hints
    from millstream.results.run_results import read_results
    from millstream.review.rebuild_cost import collect_figures

    settings, _ = read_settings(root)
    manifest = now.manifest
    results = read_results(root / settings.target_path, manifest.project, manifest.target)
    stats = collect_figures(manifest, read_hints(now.compiled).rows_per_second, results)
    if not ask_kafka:
        return stats
    from millstream.kafka.connection import connect_kafka
    from millstream.review.topic_facts import with_topic_facts

    project = project_of(common, root)
    with connect_kafka(project) as admin:
        return with_topic_facts(admin, stats, stats.topics)


def format_review(review: Review, output: str, target: RepeatedOptions) -> tuple[dict[str, Any], str | Text]:
    """Return the review for programs and for people, with commands for the target."""
    review = structs.replace(review, queries=tuple(_for_target(query, target) for query in review.queries))
    if output == "json":
        from millstream.core.encoding import to_builtins

        return to_builtins(review), ""
    if output == "markdown":
        from millstream.review.formats.markdown import write_comment

        return {}, write_comment(review).removesuffix("\n")
    return {}, _text(review)


def _for_target(query: QueryChange, target: RepeatedOptions) -> QueryChange:
    if (replay := query.replay) is not None:
        replay = structs.replace(replay, command=with_options(replay.command, target))
    return structs.replace(query, command=with_options(query.command, target), replay=replay)


_STYLES = {"title": "bold", "bad": "red", "warning": "yellow", "good": "green", "quiet": "dim"}


def _text(review: Review) -> Text:
    from rich.text import Text

    from millstream.core.text import clean_text
    from millstream.review.formats.text import text_lines

    return Text("\n").join(
        Text(clean_text(line.text), _STYLES.get(line.kind, "")) for line in text_lines(review)
    )
