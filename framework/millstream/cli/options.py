"""Options that several commands have, each declared once."""

from __future__ import annotations

import functools
import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from millstream.cli.complete import complete_accepted, complete_selector
from millstream.cli.multi_value_options import ACCEPTED, SELECTOR
from millstream.cli.output import OutputStyle
from millstream.cli.registry import SESSION_COMMANDS
from millstream.cli.remedies import repeated_options
from millstream.cli.warm_session import session_allowed

Function = TypeVar("Function", bound=Callable[..., Any])
COMMON = (
    "--project-dir",
    "--profiles-dir",
    "--target",
    "-t",
    "--environment",
    "-e",
    "--strict-env",
    "--vars",
    "--output",
    "--no-color",
    "--quiet",
    "-q",
)
CHOOSING = ("--select", "-s", "--exclude", "--selector", "--state")


class CommonOptions(Struct, frozen=True):
    """The options of every command."""

    project_dir: Path | None
    profiles_dir: Path | None
    target: str | None
    vars: str | None
    output: str
    style: OutputStyle
    environment: str | None = None
    """The environment to work in; None: that of the target, or production."""
    strict_env: bool = True
    """Whether all environment variables of the target must be set."""


class SelectionRequest(Struct, frozen=True):
    """The options that select nodes."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    selector: str | None = None
    state: str | None = None
    """The version that `state:` selectors compare with."""

    @property
    def everything(self) -> bool:
        return not (self.select or self.exclude or self.selector)


class StateOptions(Struct, frozen=True):
    """The options that say what to do with state that no longer fits."""

    full_refresh: bool = False
    accept: tuple[str, ...] = ()
    """What users accept and of which models: `stored:totals`."""
    accept_forward: bool = False
    rebuild: tuple[str, ...] = ()
    regroup: bool = False
    wait: bool = False


class RangeOptions(Struct, frozen=True):
    """The options that say which rows of append-only tables are computed again."""

    start: str | None = None
    end: str | None = None
    accept_fewer_rows: bool = False

    @property
    def requested(self) -> bool:
        return self.start is not None or self.end is not None


class TestOptions(Struct, frozen=True):
    """The options that say which tests run with a build."""

    no_tests: bool = False
    no_unit: bool = False
    all_tests: bool = False

    __test__ = False  # not a test of pytest


class SampleOptions(Struct, frozen=True):
    """The options that limit what is read of each input."""

    sample: int | None = None
    empty: bool = False

    @property
    def most(self) -> int | None:
        """The most records of an input; None for all."""
        if self.empty and self.sample is not None:
            raise click.UsageError("--sample and --empty can't be combined")
        return 0 if self.empty else self.sample


class PageOptions(Struct, frozen=True):
    """The options of what serves a page on this machine."""

    port: int = 8080
    open_: bool = True

    def opened(self, address: str) -> None:
        """Open the page in a browser, if that is wanted and somebody sits at a terminal."""
        if self.open_ and sys.stderr.isatty():
            webbrowser.open(address)


waits = click.option(
    "--wait", is_flag=True, help="If another command is using the target, wait until it ends."
)


_ENVIRONMENT = click.option(
    "--environment",
    "-e",
    metavar="NAME",
    help="Work in an isolated environment: only changed models are built, in topics and tables of its own.",
)

_STRICT_ENV = click.option(
    "--strict-env",
    is_flag=True,
    help="Fail if an environment variable of the target is not set; by default, its setting is left out.",
)


_NO_SESSION = click.option(
    "--no-session",
    is_flag=True,
    envvar="MILLSTREAM_NO_SESSION",
    help="Start Spark for this command alone, and stop it at the end: use and leave no warm session.",
)


def cli_command(
    name: str,
    *examples: str,
    outputs: tuple[str, ...] = (),
    formats: tuple[str, ...] = (),
    kind: type[click.Command] = click.Command,
    environments: bool = False,
    offline: bool = False,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command, and pass it the common options as its first argument.

    `outputs` and `formats` extend --output; for `formats`, it is also called --format. A command that works
    in isolated `environments` has --environment. One that connects to nothing is `offline`: it needs no
    environment variables of the target, unless it gets --strict-env.
    """
    choices = ["text", "json", *outputs, *formats]
    only = "" if outputs or formats else ": text, or one JSON document"
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    options = (
        click.option(
            "--project-dir",
            type=folder,
            help="The project's folder; default: the nearest one, searching upwards.",
        ),
        click.option(
            "--profiles-dir", type=folder, help="The folder of profiles.yml; default: the project's."
        ),
        click.option(
            "--target",
            "-t",
            envvar="MILLSTREAM_TARGET",
            help="A target in profiles.yml, or set MILLSTREAM_TARGET.",
        ),
        *([_ENVIRONMENT] if environments else []),
        *([_STRICT_ENV] if offline else []),
        *([_NO_SESSION] if name in SESSION_COMMANDS else []),
        click.option("--vars", metavar="YAML", help="Variables: '{name: value}'."),
        click.option(
            "--output",
            *(["--format"] if formats else []),
            type=click.Choice(choices),
            default="text",
            help=f"The format of the result{only}.",
        ),
        click.option("--no-color", is_flag=True, help="Disable colors, as NO_COLOR=1 does."),
        click.option("--quiet", "-q", is_flag=True, help="Print results and errors only."),
    )

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def wrapped(*, output: str, no_color: bool, quiet: bool, **arguments: Any) -> Any:
            named = ("project_dir", "profiles_dir", "target", "vars", "environment")
            common = {name: arguments.pop(name, None) for name in named}
            style = OutputStyle(
                output == "json",
                not no_color and not os.environ.get("NO_COLOR"),
                quiet,
                repeated_options(given_options(click.get_current_context())),
            )
            strict = arguments.pop("strict_env", True)
            no_session = arguments.pop("no_session", True)
            options = CommonOptions(**common, output=output, style=style, strict_env=strict)
            with (
                nullcontext()
                if no_session
                else session_allowed(options.project_dir, quiet=quiet or style.json)
            ):
                return function(options, **arguments)

        epilog = "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])
        return click.command(name, cls=kind, epilog=epilog)(_with(wrapped, options))

    return decorate


def given_options(context: click.Context) -> dict[str, object]:
    """Return the options of a command by their long names."""
    return {max(p.opts, key=len): context.params.get(p.name or "") for p in context.command.params}


def selection_options(function: Function) -> Function:
    """Pass --select, --exclude, --selector and --state to a command as `request`."""
    options = (
        click.option(
            "--select",
            "-s",
            multiple=True,
            metavar=SELECTOR,
            shell_complete=complete_selector,
            help="What to select: `orders+`, `tag:nightly`; several values select their union.",
        ),
        click.option(
            "--exclude",
            multiple=True,
            metavar=SELECTOR,
            shell_complete=complete_selector,
            help="What to exclude.",
        ),
        click.option("--selector", metavar="NAME", help="A selector in selectors.yml."),
        click.option(
            "--state",
            metavar="REF|FILE",
            help="What `state:modified` compares with: a branch, tag, commit, or manifest.json.",
        ),
    )
    return _grouped(function, "request", SelectionRequest, options)


def _kinds_and_models(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    for value in values:
        kind, _, models = value.partition(":")
        if kind not in {"stored", "mixed"} or not models:
            reason = f"{value!r}: write `stored:` or `mixed:` and then the models, as in stored:totals"
            raise click.BadParameter(reason, context, option)
    return values


_ACCEPTING = (
    click.option(
        "--accept",
        multiple=True,
        metavar=ACCEPTED,
        callback=_kinds_and_models,
        shell_complete=complete_accepted,
        help=(
            "Continue a query although an edit affects it. `stored:totals`: stored rows stay as the old "
            "version computed them. `mixed:totals`: its state stays, too, so rows can count by both versions."
        ),
    ),
    click.option("--accept-forward", is_flag=True, help="Deprecated: --accept of both kinds for all models."),
)


def accept_option(function: Function) -> Function:
    """Pass --accept to a command as `changes`."""
    return _grouped(function, "changes", StateOptions, _ACCEPTING)


def state_options(function: Function) -> Function:
    """Pass --rebuild, --accept, --full-refresh and --wait to a command as `changes`."""
    options = (
        click.option(
            "--rebuild",
            multiple=True,
            metavar=SELECTOR,
            shell_complete=complete_selector,
            help=(
                "Rebuild models from the start of their sources, alongside the running version; then swap. "
                "`totals+` includes everything downstream."
            ),
        ),
        *_ACCEPTING,
        click.option(
            "--full-refresh", is_flag=True, help="Remove state and tables, and read topics from the start."
        ),
        waits,
    )
    return _grouped(function, "changes", StateOptions, options)


def range_options(function: Function) -> Function:
    """Pass --from, --to and --accept-fewer-rows to a command as `part`."""
    options = (
        click.option(
            "--from",
            "start",
            metavar="TIME",
            help=(
                "Then compute the rows of append-only tables again whose time is not before this one: a day, "
                "or a time such as 2026-03-01T10:00:00Z; without a zone, it is in that of the target."
            ),
        ),
        click.option("--to", "end", metavar="TIME", help="With --from: the time before which rows are."),
        click.option(
            "--accept-fewer-rows",
            is_flag=True,
            help="With --from: replace rows although topics no longer have the records of all of them.",
        ),
    )
    return _grouped(function, "part", RangeOptions, options)


def test_options(function: Function) -> Function:
    """Pass --no-tests, --no-unit and --all-tests to a command as `tests`."""
    every = "Skip all tests: unit tests, checks of rows, and data tests of stored rows."
    again = "Also run tests that are unchanged since they passed."
    options = (
        click.option("--no-tests", is_flag=True, help=every),
        click.option("--no-unit", is_flag=True, help="Skip unit tests."),
        click.option("--all-tests", is_flag=True, help=again),
    )
    return _grouped(function, "tests", TestOptions, options)


_SAMPLE = click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help=(
        "Compute models from the newest N records of each topic and N rows of each other source, and write "
        "nothing. An empty local topic has the records of its generator."
    ),
)
_EMPTY = click.option(
    "--empty",
    is_flag=True,
    help="Compute models from no rows: Spark checks their SQL and types, and nothing is written.",
)


def sample_option(function: Function) -> Function:
    """Pass --sample to a command as `sampled`."""
    return _grouped(function, "sampled", SampleOptions, (_SAMPLE,))


def sample_options(function: Function) -> Function:
    """Pass --sample and --empty to a command as `sampled`."""
    return _grouped(function, "sampled", SampleOptions, (_SAMPLE, _EMPTY))


def serving_page(function: Function) -> Function:
    """Pass --port and --open to a command as `page`."""
    options = (
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=PageOptions().port,
            show_default=True,
            help="The port of the served page; 0: any free port.",
        ),
        click.option("--open/--no-open", "open_", default=True, help="Open the served page in a browser."),
    )
    return _grouped(function, "page", PageOptions, options)


def _grouped(
    function: Function, name: str, kind: type[Struct], options: tuple[Callable[..., Any], ...]
) -> Function:
    """Pass the options to a command as one value: the fields of `kind` have their names."""

    @functools.wraps(function)
    def wrapped(*args: Any, **arguments: Any) -> Any:
        fields = {field: arguments.pop(field) for field in kind.__struct_fields__ if field in arguments}
        return function(*args, **{name: kind(**fields)}, **arguments)

    return _with(wrapped, options)  # type: ignore[return-value]


def _with(function: Callable[..., Any], options: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    for option in reversed(options):
        function = option(function)
    return function
