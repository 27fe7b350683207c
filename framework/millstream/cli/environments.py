"""The project in the environment that a command works in, if it is not production."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from millstream.core.errors import Diagnostic, MillstreamError

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled
    from millstream.project.names import Environment
    from millstream.project.values import Project, Target


def defer_unchanged(root: Path, compiled: Compiled, project: Project) -> tuple[Compiled, Project]:
    """Compare the project with what runs in production, and defer to it what is unchanged."""
    environment = project.target.environment
    if environment is None:
        return compiled, project
    from millstream.cli.deployment import deployed_version
    from millstream.deploy.checkpoints.deployed import read_deployed
    from millstream.review.deferring import find_deferred
    from millstream.review.version import version_of

    production = structs.replace(project, target=project.target.production)
    runs = read_deployed(production, root / ".millstream")
    old = deployed_version(runs, compiled)
    deferral = find_deferred(runs, old, version_of("the working tree", compiled, root))
    environment = structs.replace(environment, deferred=deferral.relations, began=deferral.began)
    return _within(compiled, project, environment)


def defer_as_built(root: Path, compiled: Compiled, target: Target) -> tuple[Compiled, Target]:
    """Defer to production what was unchanged when the environment was built."""
    if target.environment is None:
        return compiled, target
    from millstream.deploy.checkpoints.environments import restore_environment

    return restore_environment(compiled, target, root)


def _within(compiled: Compiled, project: Project, environment: Environment) -> tuple[Compiled, Project]:
    from millstream.compile.environments import in_environment

    target = structs.replace(project.target, environment=environment)
    return in_environment(compiled, environment), structs.replace(project, target=target)


def refuse_environment(target: Target, what: str) -> None:
    """Raise if a command that writes what only production has would work in an environment."""
    if target.environment is not None:
        message = f"{what}, and the environment '{target.environment.name}' only reads production"
        remedy = "use a target without `environment:`, and leave out --environment"
        raise MillstreamError(Diagnostic("MS712", message, None, remedy))
