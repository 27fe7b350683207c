"""`millstream docs`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from millstream.cli.options import Common, common
from millstream.cli.output import console, finish, say
from millstream.cli.project import compiled, failed, models_in, root_of
from millstream.errors import Diagnostic, MillstreamError
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.manifest import Compiled

_FORMATS = ("asyncapi", "openlineage", "mermaid", "badge")
_SITE = "docs"


@click.command(
    "docs",
    epilog=(
        "\b\nExamples:\n  millstream docs generate\n  millstream docs serve --port 8000"
        "\n  millstream docs generate --format asyncapi > asyncapi.json"
        "\n  millstream docs generate --format mermaid"
    ),
)
@common(*_FORMATS, alias=("--format",))
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
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port of serve; 0: any free port.",
)
@click.option("--open/--no-open", "open_", default=True, help="With serve: open the site in a browser.")
@click.argument("action", type=click.Choice(("generate", "serve")))
def command(
    common: Common,
    *,
    action: Literal["generate", "serve"],
    to: Path | None,
    plan: bool | None,
    port: int,
    open_: bool,
) -> int:
    """Generate or serve the project's site, or a document for other tools.

    The site consists of static files: open `target/docs/index.html`, or put the folder on any web server. It
    makes no requests to other servers. It shows the lineage down to columns, the plan as written and as
    optimized rule by rule, a page for each node of the project, a search, and what needs attention. `serve`
    generates it and serves it on this machine only, until Ctrl-C.
    """
    if common.output in _FORMATS and action == "serve":
        raise click.UsageError("`docs serve` shows the site; formats are made by `docs generate`")
    root = root_of(common)
    found = compiled(common, root)
    if failed(found):
        return finish(common.look, found.diagnostics, models=models_in(found))
    if common.output in _FORMATS:
        return _document(common, root, found, to)
    settings, _ = read_settings(root)
    folder = to or root / settings.target_path / _SITE
    shown = to.as_posix() if to else f"{settings.target_path}/{_SITE}"
    result = _writing(shown, lambda: _site(common, root, found, folder, plan))
    text = f"Made the site of {models_in(found):,} models: {shown}/index.html ({_size(result['bytes'])})."
    code = finish(
        common.look,
        found.diagnostics,
        result={"site": {"folder": shown, **result}},
        text=text,
        models=models_in(found),
    )
    return _serve(common, folder, port, open_=open_) if action == "serve" and not code else code


def _site(common: Common, root: Path, found: Compiled, folder: Path, plan: bool | None) -> dict[str, int]:
    from millstream.docs.build import site_of
    from millstream.docs.material import gather
    from millstream.docs.write import foreign, write_site

    if page := foreign(folder):
        message = f"{folder.name}/{page} is no site's of Millstream, and would be overwritten"
        raise MillstreamError(Diagnostic("MS709", message, None, "name another folder with --to"))
    settings, _ = read_settings(root)
    with _telling(common) as tell:
        material = gather(root, found, settings.target_path, plan=plan, progress=tell)
        tell("Drawing")
        sizes = write_site(folder, site_of(material))
    return {"files": len(sizes), "bytes": sum(sizes.values())}


@contextmanager
def _telling(common: Common) -> Iterator[Callable[[str], None]]:
    """Say what is being done, where a person looks on."""
    screen = None if common.look.json or common.look.quiet else console(common.look, sys.stderr)
    if screen is None or not screen.is_terminal:
        yield lambda _: None
        return
    with screen.status("") as status:
        yield lambda doing: status.update(f"{doing} …")


def _document(common: Common, root: Path, found: Compiled, to: Path | None) -> int:
    from millstream.docs.formats import written_as
    from millstream.docs.material import gather

    settings, _ = read_settings(root)
    text = written_as(common.output, gather(root, found, settings.target_path, plan=False))
    if to is None:
        return finish(common.look, found.diagnostics, text=text, models=models_in(found))
    _writing(to.as_posix(), lambda: _written(to, text))
    return finish(common.look, found.diagnostics, text=f"Wrote {to.as_posix()}.", models=models_in(found))


def _written(file: Path, text: str) -> dict[str, int]:
    from millstream.atomic import replace_file

    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, f"{text}\n".encode(), mode=0o644)
    return {}


def _writing(shown: str, write: Callable[[], dict[str, int]]) -> dict[str, int]:
    """Write, or say why a place can't be written."""
    try:
        return write()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"{shown} can't be written: {reason}"
        raise MillstreamError(
            Diagnostic("MS702", message, None, "make it writable, or name another place with --to")
        ) from None


def _serve(common: Common, folder: Path, port: int, *, open_: bool) -> int:
    from millstream.docs.serving import serving

    with serving(folder, port) as (address, server):
        say(common.look, f"Look at {address} until Ctrl-C.", sys.stderr)
        if open_ and sys.stderr.isatty():
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
