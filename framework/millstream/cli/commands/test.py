"""`millstream test`."""

from __future__ import annotations

import time

import click

from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import (
    CommonOptions,
    SampleOptions,
    SelectionRequest,
    cli_command,
    sample_option,
    selection_options,
)
from millstream.cli.output import print_json, print_result, show_diagnostics
from millstream.cli.project import compile_valid, root_of
from millstream.cli.test_runs import run_tests, select_tests
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic


@cli_command(
    "test",
    "millstream test",
    "millstream test --select daily_totals+",
    "millstream test --unit --coverage    # which models and branches no unit test reaches",
    "millstream test --data --output json",
    "millstream test --sample 1000    # data tests of what models compute, before anything is built",
    "millstream test --update --select daily_totals",
    kind=SeveralValues,
    environments=True,
)
@selection_options
@click.option("--unit", is_flag=True, help="Run unit tests only: no broker, nothing stored.")
@click.option("--data", is_flag=True, help="Run data tests only, on tables and topics as they are.")
@click.option(
    "--coverage", is_flag=True, help="Report models, branches and filters that no unit test reaches."
)
@click.option("--update", is_flag=True, help="Write the actual rows into failing unit tests.")
@click.option("--fail-fast", "-x", is_flag=True, help="Stop at the first failure.")
@sample_option
def command(
    common: CommonOptions,
    *,
    request: SelectionRequest,
    unit: bool,
    data: bool,
    coverage: bool,
    update: bool,
    fail_fast: bool,
    sampled: SampleOptions,
) -> int:
    """Run unit tests of models and data tests of stored rows.

    Unit tests run a model on Spark over the rows they give, without a broker. Data tests check tables and
    topics as they are; those of models that have not been built are skipped. --select runs only the tests of
    the selected nodes. All tests are pytest items, so `pytest` in the project's folder also runs them. The
    exit code is 1 if a test failed.
    """
    began, most = time.monotonic(), sampled.most
    if most is not None and unit and not data:
        raise click.UsageError("--sample is for data tests: unit tests have rows of their own")
    root = root_of(common)
    compiled = compile_valid(common, root)
    ids, warnings = select_tests(common, compiled, request, unit=unit, data=data)
    if not common.style.json:
        show_diagnostics(common.style, [*compiled.diagnostics, *warnings])
    if ids is not None and not ids:
        remedy = "see `millstream ls --resource-type test`"
        nothing = Diagnostic("MS603", "no test is selected", None, remedy, severity="warning")
        return print_result(common.style, [nothing], result={"results": []})

    flags = [*(["-x"] if fail_fast else []), *(["--update-expectations"] if update else [])]
    flags += ["--model-coverage"] if coverage else []
    strict = data and not unit and most is None
    code, results = run_tests(common, root, compiled, ids, flags, began=began, strict=strict, sample=most)
    if common.style.json:
        from millstream.cli.diagnostics import as_data

        diagnostics = [as_data(diagnostic, common.style.target) for diagnostic in compiled.diagnostics]
        print_json({"diagnostics": diagnostics} | to_builtins(results))
    return code
