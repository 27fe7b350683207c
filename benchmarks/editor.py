"""How long an editor waits: `uv run python benchmarks/editor.py --models 1000`.

A real client talks to `millstream lsp` over pipes, over a generated project. Each keystroke is a change of one model;
what counts is the time until the diagnostics that belong to it are shown. Completion and hover are requested between
keystrokes, while a compile may run.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent / "framework/tests"))

from support import language_client  # noqa: E402
from support.language_client import Editor  # noqa: E402

language_client.PATIENCE = 600  # the first compile of a thousand models


def keystrokes(editor: Editor, path: str, count: int) -> list[float]:
    """Return the seconds from each change until its diagnostics are shown: an unknown column's name grows."""
    text, times = editor.texts[path], []
    for number in range(count):
        name = f"unknown_{'x' * (number + 1)}"
        started = time.perf_counter()
        editor.type(
            path,
            f"select {name}, * from ({text}) as t" if "config(" not in text else f"{text}\nhaving {name}",
        )
        editor.wait_until(lambda name=name: any(f"'{name}'" in d.message for d in editor.diagnostics(path)))
        times.append(time.perf_counter() - started)
    started = time.perf_counter()
    editor.type(path, text)
    editor.wait_until(lambda: not editor.diagnostics(path))
    return [*times, time.perf_counter() - started]


def answers(editor: Editor, path: str, count: int) -> tuple[list[float], list[float]]:
    """Return the seconds of completion and of hover, each right after a keystroke."""
    text, completion, hover = editor.texts[path], [], []
    for number in range(count):
        editor.type(path, f"{text}\n{'-' * (number + 2)}")
        started = time.perf_counter()
        assert editor.complete(path, "select\n  "), path
        completion.append(time.perf_counter() - started)
        started = time.perf_counter()
        assert editor.hover(path, re.search(r"\b(ref|source)\(", text)[0]), path
        hover.append(time.perf_counter() - started)
    editor.type(path, text)
    return completion, hover


def figures(name: str, times: list[float]) -> str:
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return (
        f"{name:<14}{statistics.median(times) * 1000:8.0f} ms{p95 * 1000:8.0f} ms{ordered[-1] * 1000:8.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        command = [sys.executable, str(FOLDER / "generate.py"), str(root), "--models", str(options.models)]
        subprocess.run([*command, "--seed", str(options.seed)], check=True, stdout=subprocess.DEVNULL)
        models = sorted(path.relative_to(root).as_posix() for path in root.glob("models/*/*.sql"))
        chosen = Random(options.seed).sample(models, options.files)
        started = time.perf_counter()
        editor = Editor(root)
        editor.open(chosen[0])
        editor.definition(chosen[0], "select")
        print(f"first compile {time.perf_counter() - started:8.1f} s")
        typed, completion, hover = [], [], []
        for path in chosen:
            if path not in editor.texts:
                editor.open(path)
            typed += keystrokes(editor, path, 10)
            more, others = answers(editor, path, 10)
            completion, hover = completion + more, hover + others
            editor.close(path)
        print(f"{'':<14}{'median':>11}{'95 %':>11}{'most':>11}")
        for name, times in (("diagnostics", typed), ("completion", completion), ("hover", hover)):
            print(figures(name, times))
        editor.stop()


if __name__ == "__main__":
    main()
