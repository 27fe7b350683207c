"""`millstream environment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click
from msgspec import to_builtins

from millstream.cli.diagnostics import count
from millstream.cli.jar_progress import fetching
from millstream.cli.options import Common, cli_command
from millstream.cli.output import confirmed, finish
from millstream.cli.project import project_of, root_of
from millstream.project.names import Environment

if TYPE_CHECKING:
    from millstream.runner.commands.environments import Contents


@cli_command(
    "environment",
    "millstream environment ls",
    "millstream environment drop alice",
    "millstream environment drop pr-7 --target production --yes",
)
@click.argument("action", type=click.Choice(("ls", "drop")))
@click.argument("name", required=False)
@click.option("--yes", "-y", is_flag=True, help="With drop: do not ask.")
def command(common: Common, *, action: Literal["ls", "drop"], name: str | None, yes: bool) -> int:
    """List or drop isolated environments.

    `millstream apply --environment NAME` creates an environment. `drop` lists everything that belongs to it,
    asks, and removes exactly that: its topics, consumer groups, schema subjects, tables, checkpoints and
    files. Nothing of production, of another environment or of another project is touched.
    """
    if (action == "drop") != (name is not None):
        raise click.UsageError("drop needs a NAME" if action == "drop" else "ls takes no NAME")
    if yes and action != "drop":
        raise click.UsageError("--yes needs drop")
    root = root_of(common)
    project = project_of(common, root)
    from millstream.kafka.opening import connected
    from millstream.runner.checkpoints.environments import missing
    from millstream.runner.commands.environments import contents, drop, names_of

    with fetching(common.style) as fetched, connected(project, fetched) as admin:
        if name is None:
            found = [contents(project, admin, each) for each in names_of(project, admin)]
            text = "\n".join(map(_line, found)) or "no environments"
            return finish(common.style, result={"environments": to_builtins(found)}, text=text)
        all_of_it = contents(project, admin, name)
        if all_of_it.empty:
            raise missing(Environment(name, project.settings.name), project.target)
        listed = _listed(all_of_it)
        if not (yes or common.style.json or common.style.quiet):
            click.echo(listed, err=True)
        if not yes and not common.style.json and not confirmed(f"Drop the environment '{name}'?"):
            return finish(common.style, text="nothing was removed")
        drop(project, admin, all_of_it)
    result = {"dropped": to_builtins(all_of_it)}
    text = f"dropped the environment '{name}': {_counts(all_of_it)}"
    return finish(common.style, result=result, text=None if common.style.quiet else text)


def _line(found: Contents) -> str:
    made = f", built {found.recorded.made}" if found.recorded else ""
    own = found.recorded.built if found.recorded else ()
    models = ", ".join(id_.removeprefix("model.") for id_ in own) or "no models of its own"
    return f"{found.environment}{made}: {models} ({_counts(found)})"


def _counts(found: Contents) -> str:
    parts = [
        (found.topics, "topic"),
        (found.groups, "consumer group"),
        (found.subjects, "schema subject"),
        (found.tables, "table"),
        (found.folders, "folder"),
    ]
    return ", ".join(count(len(each), what) for each, what in parts if each) or "empty"


def _listed(found: Contents) -> str:
    lines = [f"topic           {each}" for each in found.topics]
    lines += [f"consumer group  {each}" for each in found.groups]
    lines += [f"schema subject  {each}" for each in found.subjects]
    lines += [f"table           {each}" for each in found.tables]
    lines += [f"folder          {each}" for each in found.folders]
    return "\n".join(lines)
