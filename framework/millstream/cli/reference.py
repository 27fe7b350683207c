"""Generates pages of docs/ from the program: `python -m millstream.cli.reference`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from millstream.cli.commands.schema import as_text, schemas
from millstream.cli.configuration import cell, configuration_reference
from millstream.cli.group import millstream
from millstream.cli.registry import COMMANDS
from millstream.cli.rules import with_rules
from millstream.cli.run_metrics import with_metrics
from millstream.cli.streaming import with_tables
from millstream.core.codes import all_codes

DOCS = Path(__file__).resolve().parents[3] / "docs"
_PARTS = {
    "1": "Files, settings, YAML, seeds, profiles",
    "2": "Templates and configuration",
    "3": "Python functions",
    "4": "SQL",
    "5": "The graph",
    "6": "Selectors",
    "7": "The command line and the machine",
    "8": "Running: Java, jars, Kafka, tables, Spark",
    "9": "Millstream itself",
}
_GENERATED = "<!-- Written by `uv run python -m millstream.cli.reference`. -->"


def cli_reference() -> str:
    parts = ["# Commands", _GENERATED, _paragraphs(millstream.help or ""), _EXITS]
    context = click.Context(millstream, info_name="millstream", **millstream.context_settings)
    for entry in COMMANDS:
        command = millstream.get_command(context, entry.name)
        assert command is not None
        parts += _command(command, click.Context(command, info_name=entry.name, parent=context))
    return "\n\n".join(parts) + "\n"


_EXITS = """\
Results go to stdout, messages to stderr; with `--output json`, everything is one JSON document on stdout.
Exit codes: 0 success, 1 a model or a test failed, 2 an error in the project or the environment,
130 interrupted.

[Selectors](selectors.md) lists what `--select`, `--exclude` and `--selector` accept."""


def _command(command: click.Command, context: click.Context) -> Iterable[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {command.name}"
    yield f"`{context.command_path} {usage}`"
    yield _paragraphs(command.help or "")
    records = [option.get_help_record(context) for option in command.get_params(context)]
    rows = [record for record in records if record and record[1]]
    table_rows = [f"| `{cell(name)}` | {cell(text)} |" for name, text in rows]
    yield "\n".join(["| option | |", "|---|---|", *table_rows])
    if command.epilog:
        lines = command.epilog.replace("\b", "").strip().splitlines()[1:]
        yield "\n".join(["```", *(line.removeprefix("  ") for line in lines), "```"])


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


_ERRORS = """\
What each code means, and what to do about it.

`compile` reports all errors at once, but none that only follows from another one:

- While a YAML, Python or CSV file can't be read completely, errors about what it may declare wait: unknown
  sources, functions and names in YAML (MS204, MS405, MS406, MS117), and everything that depends on options,
  keys, watermarks and columns (MS5xx). MS5xx errors also wait while `pyproject.toml` has an error. Fix the
  reported errors, and compile again.
- A model that reads a broken one is not checked against its columns.
- An error in a macro is reported once, with the number of its other calls."""


def errors_reference() -> str:
    parts = ["# Errors", _GENERATED, _ERRORS]
    titled: set[str] = set()
    for name, code in all_codes().items():
        title = _PARTS[name[2]]
        if title not in titled:
            titled.add(title)
            parts.append(f"## {title}")
        parts.append(f"### {name}: {code.title}\n\n{code.explanation}")
    return "\n\n".join(parts) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_reference,
    "configuration.md": lambda: configuration_reference(_GENERATED),
    "errors.md": errors_reference,
    "review.schema.json": lambda: as_text(schemas()["review"]),
    "streaming.md": lambda: with_tables((DOCS / "streaming.md").read_text(encoding="utf-8")),
    "metrics.md": lambda: with_metrics((DOCS / "metrics.md").read_text(encoding="utf-8")),
    "optimizer.md": lambda: with_rules((DOCS / "optimizer.md").read_text(encoding="utf-8")),
}

if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
