"""`millstream review`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import compile_valid, models_in, older_version, root_of
from millstream.cli.review_output import format_review, review_options, statistics_of
from millstream.core.gc_pause import collector_paused
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.review.rebuild_cost import ReplayFigures
    from millstream.review.values import Review
    from millstream.review.version import ReviewedVersion


@cli_command(
    "review",
    "millstream review",
    "millstream review --against main",
    "millstream review --against origin/main --merge-base --fail-on breaking --fail-on rebuild",
    "millstream review --against v1.2.0 --output markdown > comment.md",
    "millstream review --against-manifest production/manifest.json --output json",
    formats=("markdown",),
    offline=True,
)
@click.option(
    "--against",
    metavar="REF",
    help="The branch, tag or commit to compare with; default: where this branch left the main one.",
)
@click.option("--merge-base", is_flag=True, help="Compare with the commit where this branch left REF.")
@click.option(
    "--against-manifest",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A manifest.json to compare with, if there is no git.",
)
@review_options
@collector_paused()
def command(
    common: CommonOptions,
    *,
    against: str | None,
    merge_base: bool,
    against_manifest: Path | None,
    fail_on: tuple[str, ...],
    ask_kafka: bool,
) -> int:
    """Review what a change does before it is merged.

    Compares columns and their readers, the state of each query, the contracts of topics and tables, and cost
    with another version. Without --against, that is the commit where this branch left the main branch: the
    default branch of `origin`, or `main` or `master`. Formatting, comments and refactorings that give the
    same rows are not changes. Nothing is run, and git's working tree is not touched. `--output markdown`
    writes a comment for a pull request.
    """
    _check(against, against_manifest, merge_base=merge_base)
    root = root_of(common)
    new = compile_valid(common, root)
    from millstream.review.version import version_of

    old, warnings = older_version(common, root, against, against_manifest, merge_base=merge_base)
    now = version_of("the working tree", new, root)
    review = _cached_review(root, old, now, statistics_of(common, root, now, ask_kafka=ask_kafka))
    data, text = format_review(review, common.output, common.style.target)
    diagnostics = [*new.diagnostics, *warnings]
    code = print_result(common.style, diagnostics, result=data, text=text, models=models_in(new))
    return code or (1 if set(fail_on) & set(review.levels) else 0)


def _check(against: str | None, manifest: Path | None, *, merge_base: bool) -> None:
    if against == "":
        raise click.UsageError("--against needs a branch, tag or commit")
    if against and manifest is not None:
        raise click.UsageError("--against and --against-manifest can't be combined")
    if merge_base and not against:
        raise click.UsageError("--merge-base needs --against REF")


def _cached_review(
    root: Path, old: ReviewedVersion, now: ReviewedVersion, statistics: ReplayFigures
) -> Review:
    """Return the review of two versions; the last one is reused if nothing has changed since."""
    from millstream.review.last_review import key_of, load_review, save_review

    target = root / read_settings(root)[0].target_path
    key = key_of(old, now, statistics)
    if (version_review := load_review(target, key)) is None:
        from msgspec.structs import replace

        from millstream.review.compare import review_versions

        cache = target / "cache"
        version_review = review_versions(
            replace(old, cache=old.cache or cache), replace(now, cache=cache), statistics
        )
        save_review(target, key, version_review)
    return version_review
