"""`millstream lint`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from millstream.cli.commands.fmt import write_text
from millstream.cli.diagnostics import count_of, with_lines
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command, selection_options
from millstream.cli.output import finish_despite_errors
from millstream.cli.project import compile_valid, models_in, project_of, root_of, select_existing
from millstream.core.gc_pause import collector_paused

if TYPE_CHECKING:
    from millstream.lint.run import LintResult

_FAILED = 1
"""The exit code if a rule whose severity is `error` has a finding."""


@cli_command(
    "lint",
    "millstream lint",
    "millstream lint --select marts --rule lossy-cast",
    "millstream lint --output json",
    kind=SeveralValues,
    offline=True,
)
@selection_options
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Only run this rule; may be repeated.")
@click.option("--fix", is_flag=True, help="Remove comments that ignore findings which are not there.")
@collector_paused()
def command(common: CommonOptions, *, request: SelectionRequest, rules: tuple[str, ...], fix: bool) -> int:
    """Report what compiles and is still likely wrong, by rules.

    Rules are built in, or functions of the project in `lint/*.py`. Warnings of the compiler, such as state
    that grows without bound, are shown, too. The option `lint` of models sets the severity of a rule, also
    for folders. `-- lint: ignore RULE: REASON` in the line of a finding, or above it, ignores the finding.
    The exit code is 1 if a rule with the severity `error` has a finding.
    """
    root = root_of(common)
    compiled = compile_valid(common, root, result={"ignored": 0})
    from millstream.lint.project import LintProject
    from millstream.lint.run import lint_project

    selection = select_existing(common, compiled, request)
    nodes = compiled.manifest.nodes
    paths = None if request.everything else {nodes[id_].path for id_ in selection.ids if id_ in nodes}
    project = LintProject(root, compiled, project_of(common, root))
    result = lint_project(project, rules, paths)
    fixed = result.fixes if fix else {}
    for path, text in fixed.items():
        write_text(root / path, text)
    findings = [
        d
        for d in with_lines(result.diagnostics, root)
        if d.code != "MS735" or d.location is None or d.location.path not in fixed
    ]
    compiler = [d for d in compiled.diagnostics if paths is None or (d.location and d.location.path in paths)]
    diagnostics = [*(compiler if not rules else []), *findings]
    failed = any(diagnostic.severity == "error" for diagnostic in findings)
    finish_despite_errors(
        common.style,
        diagnostics,
        result={"ignored": result.ignored, "fixed": sorted(fixed)},
        text=None if common.style.quiet else _summary(result, len(diagnostics), len(fixed)),
        models=models_in(compiled),
        failed=failed,
    )
    if any(diagnostic.code.startswith("MS") and diagnostic.severity == "error" for diagnostic in findings):
        return 2
    return _FAILED if failed else 0


def _summary(result: LintResult, findings: int, fixed: int) -> str:
    parts = [count_of(findings, "finding")]
    if result.ignored:
        parts.append(f"{result.ignored:,} ignored by comments")
    if fixed:
        parts.append(f"{count_of(fixed, 'file')} fixed")
    return ", ".join(parts)
