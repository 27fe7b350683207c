"""`millstream docs`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from millstream.cli.options import CommonOptions, PageOptions, cli_command, serving_page
from millstream.cli.output import print_result, print_text, progress_console
from millstream.cli.project import compile_valid, models_in, root_of, target_of
from millstream.core.byte_sizes import size_in_words
from millstream.core.errors import reporting_os_errors
from millstream.docs.exporters import installed_exporters
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled

_REMEDY = "make it writable, or choose another path with --to"


@cli_command(
    "docs",
    "millstream docs generate",
    "millstream docs serve --port 8000",
    "millstream docs generate --format asyncapi > asyncapi.json",
    "millstream docs generate --format mermaid",
    "millstream docs generate --format grafana > dashboard.json",
    "millstream docs generate --format alerts --target production > alerts.yml",
    formats=tuple(installed_exporters()),
    offline=True,
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="The folder of the site, or the file of a format; default: target/docs, or stdout.",
)
@click.option(
    "--plan/--no-plan",
    default=None,
    help="Include the plan and its queries; default: in projects of up to 1,000 models.",
)
@serving_page
@click.argument("action", type=click.Choice(("generate", "serve")))
def command(
    common: CommonOptions,
    *,
    action: Literal["generate", "serve"],
    to: Path | None,
    plan: bool | None,
    page: PageOptions,
) -> int:
    """Generate or serve the project's site, or a document for other tools.

    The site consists of static files: open `target/docs/index.html`, or put the folder on any web server. It
    makes no requests to other servers. It shows the lineage down to columns, the plan as written and as
    optimized rule by rule, a page for each node of the project, a search, and what needs attention. `serve`
    generates it and serves it on this machine only, until Ctrl-C.
    """
    if common.output in installed_exporters() and action == "serve":
        raise click.UsageError("`docs serve` serves only the site; use `docs generate` for other formats")
    root = root_of(common)
    compiled = compile_valid(common, root)
    settings, _ = read_settings(root)
    if common.output in installed_exporters():
        return _document(common, root, compiled, to)
    folder = to or root / settings.target_path / "docs"
    shown = to.as_posix() if to else f"{settings.target_path}/docs"
    with reporting_os_errors("MS702", f"{shown} can't be written", _REMEDY):
        result = _site(common, root, compiled, folder, plan, settings.target_path)
    size = size_in_words(result["bytes"])
    text = f"Generated the site of {models_in(compiled):,} models: {shown}/index.html ({size})."
    code = print_result(
        common.style,
        compiled.diagnostics,
        result={"site": {"folder": shown, **result}},
        text=text,
        models=models_in(compiled),
    )
    return _serve(common, folder, page) if action == "serve" and not code else code


def _site(
    common: CommonOptions, root: Path, compiled: Compiled, folder: Path, plan: bool | None, target_path: str
) -> dict[str, int]:
    from millstream.docs.generate import generate_site
    from millstream.explain.state_memory import stores_of

    stores = stores_of(target_of(common, root), root)
    with _status(common) as set_status:
        _, sizes = generate_site(
            root, compiled, target_path, folder, plan=plan, stores=stores, progress=set_status
        )
    return {"files": len(sizes), "bytes": sum(sizes.values())}


@contextmanager
def _status(common: CommonOptions) -> Iterator[Callable[[str], None]]:
    """Yield what sets the text of a spinner; without a terminal, nothing is shown."""
    if (screen := progress_console(common.style)) is None:
        yield lambda _: None
        return
    with screen.status("") as status:
        yield lambda step: status.update(f"{step} …")


def _document(common: CommonOptions, root: Path, compiled: Compiled, to: Path | None) -> int:
    from millstream.core.atomic import replace_file
    from millstream.docs.export import exported_project
    from millstream.docs.exporters import write_document
    from millstream.results.thresholds import thresholds_of

    thresholds = thresholds_of(target_of(common, root))
    text = write_document(common.output, exported_project(compiled, thresholds))
    if to is not None:
        with reporting_os_errors("MS702", f"{to.as_posix()} can't be written", _REMEDY):
            to.parent.mkdir(parents=True, exist_ok=True)
            replace_file(to, f"{text}\n".encode(), mode=0o644)
        text = f"Wrote {to.as_posix()}."
    return print_result(common.style, compiled.diagnostics, text=text, models=models_in(compiled))


def _serve(common: CommonOptions, folder: Path, page: PageOptions) -> int:
    from millstream.docs.serving import serve_folder

    with serve_folder(folder, page.port) as (address, server):
        print_text(common.style, f"Serving at {address}; press Ctrl-C to stop.", sys.stderr)
        page.opened(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
