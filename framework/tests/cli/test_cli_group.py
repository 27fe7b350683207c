"""What all commands share: help, usage errors, exit codes, failures."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import click
import pytest
from support.terminal import all_shown

from millstream.cli.failures import run_guarded
from millstream.cli.group import millstream
from millstream.cli.registry import COMMANDS
from millstream.compile import compile_project

PROGRAM = [sys.executable, "-m", "millstream"]


def test_help_lists_every_command(run):
    result = run("--help")
    assert result.code == 0
    for entry in COMMANDS:
        assert f"  {entry.name} " in result.out


def test_help_imports_click_only():
    code = (
        "import sys; from millstream.cli.group import millstream\n"
        "try: millstream.main(['--help'], prog_name='millstream')\nexcept SystemExit: pass\n"
        "print([m for m in ('rich', 'msgspec', 'sqlglot', 'jinja2', 'yaml') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_registry_says_what_the_command_says(entry):
    command = import_module(entry.module).command
    assert command.name == entry.name
    assert command.help.partition("\n")[0] == entry.help
    assert "Example" in command.epilog


def test_without_arguments_the_help_is_shown(run):
    result = run()
    assert result.code == 2
    assert "Commands:" in result.out + result.err


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (["comple"], "there is no command 'comple'", "did you mean 'compile'?"),
        (["compile", "--selct", "x"], "`millstream compile` has no option '--selct'", "'--select'?"),
        (["--target", "x", "compile"], "'--target'", "millstream compile --target"),
        (["ls", "--output", "xml"], "'xml' is not one of", "millstream ls --help"),
        (["compile", "extra"], "unexpected extra argument (extra)", "millstream compile --help"),
        (["init"], "missing argument 'PATH'", "millstream init --help"),
    ],
)
def test_usage_errors_have_a_remedy(run, arguments, message, remedy):
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert message in result.err
    assert remedy in result.err
    assert result.err.startswith("error[MS701]: ")


@pytest.mark.parametrize(
    "arguments",
    [["compile", "--output", "json", "--x"], ["ls", "--x", "--format=json"], ["x", "--output=json"]],
)
def test_usage_errors_are_json_where_json_was_asked_for(run, arguments):
    result = run(*arguments)
    assert result.code == 2
    assert result.err == ""
    assert [d["code"] for d in result.json["diagnostics"]] == ["MS701"]


def test_outside_of_a_project_the_remedy_is_init(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("compile")
    assert result.code == 2
    assert "error[MS101]" in result.err
    assert "millstream init" in result.err


def test_an_unexpected_exception_apologizes_without_a_traceback(capsys, monkeypatch):
    monkeypatch.delenv("MILLSTREAM_TRACEBACK", raising=False)
    assert run_guarded(lambda: 1 // 0, []) == 2
    message = capsys.readouterr().err
    assert message.startswith("error[MS900]: ")
    assert "ZeroDivisionError" in message
    assert "Traceback" not in message
    report = Path(re.search(r"report it with (\S+),", message)[1])
    assert "1 // 0" in report.read_text()
    report.unlink()


def test_a_report_has_the_file_and_no_secrets(run, shop, capsys, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "swordfish")
    monkeypatch.setattr("millstream.sql.binder.Binder.__init__", lambda *_: 1 // 0)
    (shop / "models/broken.sql").write_text("select 'swordfish' as x\n-- api_token: hunter2\n")
    assert run_guarded(lambda: compile_project(shop), ["compile", "--project-dir", str(shop)]) == 2
    message = capsys.readouterr().err
    assert "internal error in Millstream while analyzing models/broken.sql: ZeroDivisionError" in message
    report = Path(re.search(r"report it with (\S+),", message)[1])
    text = report.read_text()
    assert report.stat().st_mode & 0o077 == 0
    report.unlink()
    assert "--- pyproject.toml" in text
    assert "--- models/broken.sql\nselect '****' as x\n-- api_token: ****" in text


def test_the_traceback_is_shown_when_asked_for(capsys, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_TRACEBACK", "1")
    run_guarded(lambda: 1 // 0, [])
    assert "Traceback" in capsys.readouterr().err


def test_an_unexpected_exception_is_json_too(capsys):
    assert run_guarded(lambda: 1 // 0, ["compile", "--output", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["code"] == "MS900"


@pytest.mark.parametrize("arguments", [[], ["compile", "--output", "json"]])
def test_the_line_of_an_unexpected_exception_has_no_secrets(capsys, monkeypatch, tmp_path, arguments):
    def fail():
        raise RuntimeError(f"can't connect with {secret} as shop")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # of the report
    secret = "sword fish" * 40  # longer than what is shown of a message
    monkeypatch.setenv("SHOP_PASSWORD", secret)
    assert run_guarded(fail, arguments) == 2
    message = "".join(capsys.readouterr())
    assert "can't connect with **** as shop" in message
    assert "fish" not in message


def test_an_interrupt_is_one_line_and_130(capsys):
    def stop():
        raise click.Abort

    assert run_guarded(stop, []) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def _hears_ctrl_c():
    """Undo what a shell does to programs in the background: they would never hear of it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_in_a_terminal(shop):
    (shop / "models/slow.sql").write_text(
        "{% for a in range(3000) %}{% for b in range(30000) %}{% endfor %}{% endfor %}select 1 as x"
    )
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "millstream", "compile"],
        stdout=-1,
        stderr=-1,
        text=True,
        preexec_fn=_hears_ctrl_c,  # noqa: PLW1509
    ) as process:
        # What templates need is the last import before they are rendered.
        while not (line := process.stderr.readline()).endswith(" jinja2.ext\n"):
            assert line, process.wait()
        process.send_signal(signal.SIGINT)
        message = [line for line in process.stderr if not line.startswith("import time:")]
        assert process.stdout.read() == ""
    assert process.returncode == 130
    assert "".join(message).strip() == "Interrupted."


def test_a_closed_pipe_is_no_error(shop):
    script = f"{sys.executable} -m millstream ls 2>err | true; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() in {"0", "141"}
    assert (shop / "err").read_text() == ""


def test_no_colours_where_there_is_no_terminal(run, shop):
    (shop / "models/bad.sql").write_text("select x from {{ ref('nothing') }}")
    assert "\x1b" not in run("compile").err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [([], {}, True), (["--no-color"], {}, False), ([], {"NO_COLOR": "1"}, False)],
)
def test_colours_in_a_terminal_can_be_turned_off(shop, arguments, environment, coloured):
    (shop / "models/bad.sql").write_text("select x from {{ ref('nothing') }}")
    ours, theirs = os.openpty()
    env = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "CI"}} | {"TERM": "xterm-256color"}
    subprocess.run(
        [*PROGRAM, "compile", "--quiet", *arguments], stderr=theirs, check=False, env=env | environment
    )
    os.close(theirs)
    message = all_shown(ours).decode()
    assert "nothing" in message
    assert ("\x1b[" in message) is coloured


def test_version(run):
    assert run("--version").out.startswith("millstream ")


def test_options_are_read_before_and_after_the_arguments(run, shop):
    assert run("lineage", "--quiet", "totals", "--no-color").code == 0


def test_completing_a_command_needs_no_import():
    context = click.Context(millstream)
    completions = [item.value for item in millstream.shell_complete(context, "co")]
    assert completions == ["compile", "consume", "completion"]
