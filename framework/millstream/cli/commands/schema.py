"""`millstream schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.core.atomic import replace_file
from millstream.core.encoding import to_json
from millstream.core.errors import reporting_os_errors
from millstream.project.jsonschema import json_schemas

NAMES = ("properties", "profiles", "project", "selectors", "manifest", "review")


@cli_command("schema", "millstream schema properties > properties.json", "millstream schema --write .schemas")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice(NAMES))
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write each schema to a file in this folder.",
)
def command(common: CommonOptions, *, name: str | None, folder: Path | None) -> int:
    """Print the JSON Schemas of the YAML files.

    NAME is one of properties, profiles, project, selectors, manifest and review; by default, all are printed.
    Editors use them to complete and check YAML; `millstream init` configures VS Code to use them.
    `manifest` describes target/manifest.json, `review` what `millstream review --output json` prints.
    """
    json_schemas = all_schemas()
    selected = {name: json_schemas[name]} if name else json_schemas
    if folder is None:
        if common.style.json:
            return print_result(common.style, result={"schemas": selected})
        return print_result(common.style, text=as_text(selected[name] if name else selected).rstrip("\n"))
    paths = write_schemas(folder, selected)
    text = None if common.style.quiet else "\n".join(f"Wrote {path}" for path in paths)
    return print_result(common.style, result={"written": paths}, text=text)


def all_schemas() -> dict[str, dict[str, Any]]:
    from millstream.compile.manifest import Manifest
    from millstream.core.node_id import id_schema
    from millstream.review.schema import review_schema

    manifest = msgspec.json.schema(Manifest, schema_hook=id_schema)
    return json_schemas() | {
        "manifest": {"$schema": "https://json-schema.org/draft/2020-12/schema"} | manifest,
        "review": review_schema(),
    }


def as_text(schema: Any) -> str:
    return msgspec.json.format(to_json(schema), indent=2).decode() + "\n"


def write_schemas(folder: Path, selected: dict[str, dict[str, Any]]) -> list[str]:
    with reporting_os_errors("MS702", f"schemas can't be written to {folder}", "choose another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in selected.items():
            replace_file(folder / f"{name}.json", as_text(schema).encode(), mode=0o644)
    return [str(folder / f"{name}.json") for name in selected]
