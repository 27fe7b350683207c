"""What a project is, compared with what runs on its target: for `plan`, and for `apply` before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from millstream.cli.options import Common
from millstream.cli.reviewing import known_of

if TYPE_CHECKING:
    from millstream.deployment.records import Deployed
    from millstream.manifest import Compiled
    from millstream.review.values import QueryChange, Review
    from millstream.review.version import Version
    from millstream.runner.values import Job


class Deployment(Struct, frozen=True):
    review: Review
    anew: tuple[QueryChange, ...]
    """What is made anew."""
    first: bool
    """Nothing runs there."""


def deployment_of(
    common: Common, root: Path, found: Compiled, job: Job, *, accept_forward: bool, ask_kafka: bool = False
) -> Deployment:
    from millstream.review.deployment import deployment, made_anew
    from millstream.review.version import version_of
    from millstream.runner.deployed import deployed
    from millstream.topology import physical_of

    there = deployed(job.project, root / ".millstream")
    now = version_of("the working tree", found, root)
    physical = job.physical if there.lock == job.lock else physical_of(job.topology, there.lock)
    known = known_of(common, root, now, ask_kafka=ask_kafka)
    review = deployment(there, _noted(there), now, physical, known, accept_forward=accept_forward)
    return Deployment(review, made_anew(review, accept_forward=accept_forward), not there.records)


def _noted(there: Deployed) -> Version | None:
    """Return what the models that run said when they were started; None: nobody knows."""
    from millstream.review.version import decoded

    if there.manifest is None:
        return None
    try:
        return decoded("what runs", there.manifest)
    except ValueError:
        return None  # noted by another version of Millstream


def outcome(found: Deployment) -> str:
    """Say in a sentence what an apply would do."""
    if found.first:
        return "Nothing runs there yet: all models begin with what their topics hold."
    if not found.anew:
        return "Nothing is made anew: every query goes on from where it is."
    names = dict.fromkeys(model for each in found.anew for model in each.models)
    return f"Made anew beside what runs, compared, and swapped: {', '.join(names)}. The rest goes on."
