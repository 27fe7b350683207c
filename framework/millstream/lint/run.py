"""Runs rules over a compiled project: findings with their severities, without those that comments ignore."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.text import FileText
from millstream.lint.own_rules import failure, line_in, read_rules
from millstream.lint.project import LintProject
from millstream.lint.rule import Rule
from millstream.lint.rules import RULES
from millstream.lint.suppressions import Suppression, read_suppressions
from millstream.lint.values import Finding, Level
from millstream.project.files import File, read_file


class LintResult(Struct, frozen=True):
    diagnostics: tuple[Diagnostic, ...]
    ignored: int
    """The number of findings that comments ignore."""
    fixes: dict[str, str]
    """The texts of files without comments that have no effect, by path."""


def lint_project(
    project: LintProject, only: Collection[str] = (), paths: Collection[str] | None = None
) -> LintResult:
    """Run the rules, or `only` some of them; with `paths`, report findings in these files alone."""
    own_rules, failures = read_rules(project.root, project.settings)
    rules = [*RULES, *own_rules]
    names = [rule.name for rule in rules]
    files = _files(project)
    suppressions = {path: list(read_suppressions(text)) for path, text in files.items()}
    findings: list[Diagnostic] = []
    for rule in rules:
        if not only or rule.name in only:
            # A macro gives each model that calls it the same finding.
            findings += dict.fromkeys(_findings(project, rule, failures))
    reported = [finding for finding in findings if not _is_ignored(finding, suppressions)]
    comments = _wrong_comments(files, suppressions, findings, names, only)
    unknown = [*_unknown_options(project, names), *_unknown_names(only, names)]
    of_files = [*reported, *comments]
    if paths is not None:
        of_files = [d for d in of_files if d.location is None or d.location.path in paths]
    diagnostics = [*failures, *of_files, *unknown]
    fixes = _without_comments(files, suppressions, diagnostics)
    return LintResult(tuple(diagnostics), len(findings) - len(reported), fixes)


def _findings(project: LintProject, rule: Rule, failures: list[Diagnostic]) -> Iterator[Diagnostic]:
    try:
        values: list[object] = list(rule.check(project))
    except Exception as error:
        if not rule.path:
            raise
        message = f"the rule '{rule.name}' fails: {type(error).__name__}: {error}"
        failures.append(failure(rule.path, line_in(error, project.root / rule.path), message))
        return
    findings = [finding for finding in values if isinstance(finding, Finding)]
    if len(findings) < len(values):
        wrong = next(value for value in values if not isinstance(value, Finding))
        failures.append(
            failure(rule.path, 1, f"the rule '{rule.name}' yields {wrong!r}, which is not a finding")
        )
        return
    for finding in findings:
        severity = _severity(project, rule, finding)
        if severity != "off":
            yield replace(project.locate(rule.name, finding), severity=severity)


def _severity(project: LintProject, rule: Rule, finding: Finding) -> Level:
    """Return what the options of the finding's model or its folders say, or else the rule."""
    levels: dict[str, Level] = project.compiled.manifest.nodes[finding.model].config.get("lint") or {}
    return levels.get(rule.name, rule.severity)


def _files(project: LintProject) -> dict[str, FileText]:
    paths = [file.path for file in (*project.project.models.values(), *project.project.macros)]
    paths += [function.path for function in project.project.functions.values()]
    files = (read_file(project.root, path) for path in dict.fromkeys(paths))
    return {file.path: FileText(file.path, file.content) for file in files if isinstance(file, File)}


def _is_ignored(finding: Diagnostic, suppressions: dict[str, list[Suppression]]) -> bool:
    location = finding.location
    return location is not None and any(
        comment.covers(finding.code, location.line) for comment in suppressions.get(location.path, ())
    )


def _wrong_comments(
    files: dict[str, FileText],
    suppressions: dict[str, list[Suppression]],
    findings: list[Diagnostic],
    names: list[str],
    only: Collection[str],
) -> Iterator[Diagnostic]:
    lines = {(f.code, f.location.path, f.location.line) for f in findings if f.location is not None}
    for path, comments in suppressions.items():
        for comment in comments:
            line = files[path].line(comment.location.line)
            for name in comment.rules:
                if name not in names:
                    yield _unknown(name, names, comment, line)
                elif not comment.reason:
                    remedy = f"write why: lint: ignore {name}: <reason>"
                    message = f"'{name}' is ignored here without a reason"
                    yield Diagnostic("MS734", message, comment.location, remedy, line)
                elif (not only or name in only) and not any(
                    (name, path, number) in lines for number in comment.lines
                ):
                    message = f"there is no finding of '{name}' to ignore here"
                    remedy = "remove the comment, or run `millstream lint --fix`"
                    yield Diagnostic("MS735", message, comment.location, remedy, line, severity="warning")


def _unknown(name: str, names: list[str], comment: Suppression, line: str) -> Diagnostic:
    remedy = did_you_mean(name, names, f"rules: {', '.join(names)}")
    return Diagnostic("MS736", f"there is no lint rule '{name}'", comment.location, remedy, line)


def _unknown_options(project: LintProject, names: list[str]) -> Iterator[Diagnostic]:
    reported: set[str] = set()
    for model in project.models.values():
        for name in model.node.config.get("lint") or {}:
            if name not in names and name not in reported:
                reported.add(name)
                remedy = did_you_mean(name, names, f"rules: {', '.join(names)}")
                finding = model.finding(f"the option `lint` names '{name}', which is not a lint rule", remedy)
                yield replace(project.locate("MS736", finding), severity="error")


def _unknown_names(only: Iterable[str], names: list[str]) -> Iterator[Diagnostic]:
    for name in only:
        if name not in names:
            remedy = did_you_mean(name, names, f"rules: {', '.join(names)}")
            yield Diagnostic("MS736", f"there is no lint rule '{name}'", None, remedy)


def _without_comments(
    files: dict[str, FileText], suppressions: dict[str, list[Suppression]], diagnostics: list[Diagnostic]
) -> dict[str, str]:
    """Return the files without the comments all of whose rules have no finding."""
    useless: dict[tuple[str, int], int] = {}
    for diagnostic in diagnostics:
        if diagnostic.code == "MS735" and (location := diagnostic.location) is not None:
            key = (location.path, location.line)
            useless[key] = useless.get(key, 0) + 1
    texts: dict[str, str] = {}
    for path, comments in suppressions.items():
        content = files[path].content
        for comment in reversed(comments):
            if useless.get((path, comment.location.line)) == len(comment.rules):
                content = content[: comment.start] + content[comment.stop :]
        if content != files[path].content:
            texts[path] = content
    return texts
