"""The findings of a project, in short."""

import json

from click.testing import CliRunner

from millstream.cli.group import millstream

EVENTS = "{{ source('shop', 'events') }}"


def run_lint(root, *arguments):
    command = ["lint", "--project-dir", str(root), "--output", "json", *arguments]
    result = CliRunner().invoke(millstream, command, catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


def findings_of(root, *arguments):
    """Return code and place of each finding, without the warnings of the compiler."""
    _, document = run_lint(root, *arguments)
    return [
        (d["code"], f"{(d['path'] or '').removeprefix('models/')}:{d['line']}:{d['column']}")
        for d in document["diagnostics"]
        if not d["code"].startswith("MS5")
    ]
