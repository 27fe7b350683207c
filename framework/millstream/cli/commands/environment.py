"""`millstream environment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from millstream.cli.diagnostics import count_of
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import ask_yes, print_result
from millstream.cli.project import project_of, root_of
from millstream.core.encoding import to_builtins
from millstream.project.names import Environment

if TYPE_CHECKING:
    from millstream.runner.commands.environments import EnvironmentContents


@cli_command(
    "environment",
    "millstream environment ls",
    "millstream environment drop alice",
    "millstream environment drop pr-7 --target production --yes",
)
@click.argument("action", type=click.Choice(("ls", "drop")))
@click.argument("name", required=False)
@click.option("--yes", "-y", is_flag=True, help="With drop: do not ask.")
def command(common: CommonOptions, *, action: Literal["ls", "drop"], name: str | None, yes: bool) -> int:
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
    from millstream.deploy.checkpoints.environments import missing_environment
    from millstream.kafka.connection import connect_kafka
    from millstream.runner.commands.environments import drop_environment, environment_contents, names_of

    with jar_progress(common.style) as fetched, connect_kafka(project, fetched) as admin:
        if name is None:
            environments = [
                environment_contents(project, admin, environment) for environment in names_of(project, admin)
            ]
            text = "\n".join(map(_line, environments)) or "no environments"
            return print_result(common.style, result={"environments": to_builtins(environments)}, text=text)
        all_of_it = environment_contents(project, admin, name)
        if all_of_it.empty:
            raise missing_environment(Environment(name, project.settings.name), project.target)
        contents_text = _contents_text(all_of_it)
        if not (yes or common.style.json or common.style.quiet):
            click.echo(contents_text, err=True)
        if not yes and not common.style.json and not ask_yes(f"Drop the environment '{name}'?"):
            return print_result(common.style, text="nothing was removed")
        drop_environment(project, admin, all_of_it)
    result = {"dropped": to_builtins(all_of_it)}
    text = f"dropped the environment '{name}': {_counts(all_of_it)}"
    return print_result(common.style, result=result, text=None if common.style.quiet else text)


def _line(contents: EnvironmentContents) -> str:
    built_at = f", built {contents.recorded.last_built}" if contents.recorded else ""
    built = contents.recorded.built if contents.recorded else ()
    models = ", ".join(id_.shown_name for id_ in built) or "no models of its own"
    return f"{contents.environment}{built_at}: {models} ({_counts(contents)})"


def _counts(contents: EnvironmentContents) -> str:
    parts = [
        (contents.topics, "topic"),
        (contents.groups, "consumer group"),
        (contents.subjects, "schema subject"),
        (contents.tables, "table"),
        (contents.folders, "folder"),
    ]
    return ", ".join(count_of(len(names), what) for names, what in parts if names) or "empty"


def _contents_text(contents: EnvironmentContents) -> str:
    lines = [f"topic           {topic}" for topic in contents.topics]
    lines += [f"consumer group  {group}" for group in contents.groups]
    lines += [f"schema subject  {subject}" for subject in contents.subjects]
    lines += [f"table           {table}" for table in contents.tables]
    lines += [f"folder          {folder}" for folder in contents.folders]
    return "\n".join(lines)
