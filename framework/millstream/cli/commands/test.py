"""`millstream test`."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millstream.cli.options import Choice, Common, choosing, common
from millstream.cli.output import finish, print_json, show
from millstream.cli.project import chosen, compiled, failed, models_in, root_of
from millstream.errors import Diagnostic
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.manifest import Compiled
    from millstream.testing.choice import Choice as Wanted


@click.command(
    "test",
    epilog=(
        "\b\nExamples:\n  millstream test\n  millstream test --select daily_totals+"
        "\n  millstream test --unit --coverage    # which models and branches no unit test reaches"
        "\n  millstream test --data --output json\n  millstream test --update --select daily_totals"
    ),
)
@common()
@choosing
@click.option("--unit", is_flag=True, help="Unit tests only: no broker, nothing stored.")
@click.option("--data", is_flag=True, help="Data tests only: of tables and topics as they are.")
@click.option(
    "--coverage", is_flag=True, help="Tell which models, branches and filters no unit test reaches."
)
@click.option("--update", is_flag=True, help="Write what came out into the unit tests that fail.")
@click.option("--fail-fast", "-x", is_flag=True, help="End with the first test that fails.")
def command(
    common: Common, *, choice: Choice, unit: bool, data: bool, coverage: bool, update: bool, fail_fast: bool
) -> int:
    """Test models on given rows, and what is stored.

    Unit tests run a model on Spark over the rows that they give, without a broker. Data tests look at tables
    and topics as they are; those of what has not been built yet are skipped. With --select, the tests of
    what is selected. The items are pytest's: `pytest` in the project's folder runs them, too. The exit code
    is 1 if a test failed.
    """
    root = root_of(common)
    found = compiled(common, root)
    if failed(found):
        return finish(common.look, found.diagnostics, models=models_in(found))
    ids, warnings = _ids(found, choice, unit=unit, data=data)
    if not common.look.json:
        show(common.look, [*found.diagnostics, *warnings])
    if ids is not None and not ids:
        nothing = Diagnostic(
            "MS603", "no test is selected", None, "see `millstream ls --kind test`", severity="warning"
        )
        return finish(common.look, [nothing], result={"results": []})

    from millstream.testing.bed import Options
    from millstream.testing.choice import Choice as Wanted

    profiles = str(common.profiles_dir) if common.profiles_dir else None
    options = Options(common.target, common.vars, profiles)
    wanted = Wanted(options, ids, strict=data and not unit)
    flags = [*(["-x"] if fail_fast else []), *(["--update-expectations"] if update else [])]
    flags += ["--model-coverage"] if coverage else []
    return _run(common, root, found, wanted, flags)


def _ids(
    found: Compiled, choice: Choice, *, unit: bool, data: bool
) -> tuple[frozenset[str] | None, list[Diagnostic]]:
    """Return the tests that are asked for; None for all, those in Python, too."""
    if choice.everything and unit == data:
        return None, []
    _, selection = chosen(found, choice, with_tests=True)
    kinds = {"unit_test"} if unit and not data else {"test"} if data and not unit else {"unit_test", "test"}
    nodes = found.manifest.nodes
    return frozenset(id_ for id_ in selection.ids if nodes[id_].kind in kinds), list(selection.diagnostics)


def _run(common: Common, root: Path, found: Compiled, wanted: Wanted, flags: list[str]) -> int:
    from millstream import __version__
    from millstream.cli.signals import ending_well
    from millstream.testing.choice import TestResults, write_results
    from millstream.testing.running import run

    began, now = time.monotonic(), datetime.now(timezone.utc)
    settings, _ = read_settings(root)
    with ending_well():
        code = run(
            root,
            settings,
            wanted,
            flags,
            quiet=common.look.quiet,
            color=common.look.color,
            silent=common.look.json,
        )
    results = TestResults(
        "test",
        found.manifest.project,
        found.manifest.target,
        now.isoformat(timespec="seconds"),
        round(time.monotonic() - began, 3),
        tuple(wanted.results),
        wanted.coverage,
        __version__,
    )
    write_results(root / settings.target_path, results)
    if common.look.json:
        import msgspec

        from millstream.cli.diagnostics import as_data

        listed = [as_data(each) for each in found.diagnostics]
        print_json({"diagnostics": listed} | msgspec.to_builtins(results))
    return code
