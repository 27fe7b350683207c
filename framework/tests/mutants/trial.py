"""Compiles one mutant in a process of its own, with the cache of the good project and without one."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from click.testing import CliRunner
from mutants.causes import unexplained
from mutants.projects import PROJECTS, Mutant, files_of, mutant, write_project

from millstream.cli.group import millstream

SECONDS = 10
"""Of CPU, for one compile; a process that waits is ended later."""
WAITING = 90
"""Seconds after which a process that doesn't calculate hangs, on a machine with other work."""
BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """An error of a compile."""

    code: str
    path: str | None
    line: int | None
    message: str
    notes: tuple[str, ...]
    """The paths that its notes point at."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What the compiles of a mutant returned; `ended` says how its process ended, if not by itself."""

    number: int
    project: str
    path: str
    mutation: str
    ended: str
    errors: tuple[ErrorRecord, ...]
    unexplained: tuple[str, ...]
    """Files with errors that the mistake does not explain."""
    agree: bool
    traceback: bool
    internal: bool
    peak: int


def run_all(numbers: range, folder: Path, output: Path) -> None:
    """Write the trial of each mutant as a line of JSON."""
    roots = {name: folder / "good" / name for name in PROJECTS}
    for name, root in roots.items():
        write_project(name, root)
        code, _ = _compile(root)
        assert code == 0, f"the project '{name}' has errors before any mistake"
    with output.open("w", encoding="utf-8") as stream:
        for number in numbers:
            trial = attempt(mutant(number, roots), roots, folder / "mutant")
            stream.write(json.dumps(asdict(trial)) + "\n")
            stream.flush()


def attempt(mutant: Mutant, roots: dict[str, Path], root: Path) -> Trial:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(roots[mutant.project], root)
    (root / mutant.former).unlink()
    (root / mutant.path).parent.mkdir(exist_ok=True)
    (root / mutant.path).write_text(mutant.text, encoding="utf-8", newline="")
    result = root.with_suffix(".json")
    result.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (6 * BYTES, 6 * BYTES))
        try:
            result.write_text(json.dumps(_twice(root)), encoding="utf-8")
        except BaseException:  # noqa: BLE001 - the process of the test ends here in any case
            traceback.print_exc()
        finally:
            os._exit(0)
    ended, peak = _wait(child)
    named = (mutant.number, mutant.project, mutant.path, mutant.mutation)
    if not result.exists():
        return Trial(*named, ended or "ended without a result", (), (), False, False, False, peak)
    answer = json.loads(result.read_text(encoding="utf-8"))
    errors = tuple(ErrorRecord(*fields) for fields in answer["errors"])
    slow = f"compiling took {answer['seconds']:.1f} s of CPU" if answer["seconds"] > SECONDS else ""
    good = roots[mutant.project]
    files = {path.relative_to(good).as_posix(): path.read_text(encoding="utf-8") for path in files_of(good)}
    before = files.pop(mutant.former)
    files[mutant.path] = mutant.text
    others = unexplained(
        files, mutant.path, mutant.former, before, {error.path for error in errors if error.path}
    )
    return Trial(
        *named,
        ended or slow,
        errors,
        tuple(sorted(others)),
        answer["agree"],
        answer["traceback"],
        answer["internal"],
        peak,
    )


def _wait(child: int) -> tuple[str, int]:
    """Return how the process ended, and its largest memory in bytes."""
    end = time.monotonic() + WAITING
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            return (f"signal {signal}" if signal else ""), usage.ru_maxrss * 1024
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return f"waited for {WAITING} s", 0
        time.sleep(0.01)


def _twice(root: Path) -> dict[str, object]:
    """Compile with the cache, without one, and with the cache of the mutant itself."""
    answers, slowest = [], 0.0
    for arguments in ((), ("--no-cache",), ()):
        start = time.process_time()
        _, text = _compile(root, *arguments)
        slowest = max(slowest, time.process_time() - start)
        answers.append(text)
    first = answers[0]
    parsed = [_answer(text) for text in answers]
    return {
        "errors": [
            (e["code"], e["path"], e["line"], e["message"], [note["path"] for note in e["notes"]])
            for e in parsed[1][0]
            if e["severity"] == "error"
        ],
        "agree": parsed[0] == parsed[1] == parsed[2],
        "traceback": "Traceback (most recent call last)" in first,
        "internal": any(diagnostic["code"] == "MS900" for answer in parsed for diagnostic in answer[0]),
        "seconds": slowest,
    }


def _answer(text: str) -> tuple[list[dict[str, object]], object]:
    answer = json.loads(text[text.index("{") :])
    models = answer.get("result", {}).get("models", ())
    return answer["diagnostics"], [(model["id"], model["sql"]) for model in models]


def _compile(root: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        millstream,
        ["compile", "--project-dir", str(root), "--output", "json", *arguments],
        prog_name="millstream",
    )
    return result.exit_code, result.output


if __name__ == "__main__":
    first, last, step, into, lines = sys.argv[1:]
    run_all(range(int(first), int(last), int(step)), Path(into), Path(lines))
