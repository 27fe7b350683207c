"""Every feature once in VS Code in a browser: `uv run python editors/vscode/tour.py FOLDER`.

It needs Chromium, `code-server` (or its command in CODE_SERVER), and `npm run package` before. It writes the
screenshots to FOLDER, of which docs/editors.md shows some, and says which features worked.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error, Page, expect

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "framework/tests"))

from editor.conftest import write_shop  # noqa: E402
from support.browser import chromium  # noqa: E402

PATIENCE = 30_000
SETTINGS = {
    "millstream.command": [sys.executable, "-m", "millstream"],
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Light Modern",
    "workbench.tips.enabled": False,
    "workbench.reduceMotion": "on",
    "editor.minimap.enabled": False,
    "editor.fontSize": 13,
    "chat.commandCenter.enabled": False,
    "terminal.integrated.gpuAcceleration": "off",
}


@contextmanager
def served(project: Path, data: Path) -> Iterator[str]:
    """Serve VS Code with the packaged extension; yield its address."""
    command = [*shlex.split(os.environ.get("CODE_SERVER", "code-server"))]
    command += ["--user-data-dir", str(data), "--extensions-dir", str(data / "extensions")]
    (data / "User").mkdir(parents=True)
    (data / "User/settings.json").write_text(json.dumps(SETTINGS))
    package = FOLDER / "dist/millstream.vsix"
    subprocess.run([*command, "--install-extension", str(package)], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--bind-addr", address]
    with (data / "log").open("w") as log:
        server = subprocess.Popen([*command, *options, str(project)], stdout=log, stderr=log)
    try:
        wait_for(f"http://{address}/healthz")
        yield f"http://{address}/?folder={project}"
    finally:
        server.terminate()
        server.wait()


def wait_for(url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url).close()  # noqa: S310 - of this machine
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


class Tour:
    """One window of VS Code, and the features that worked in it."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.worked: dict[str, str] = {}

    def ask(self, keys: str, text: str) -> None:
        """Open the box at the top by its keys, and write into it."""
        self.page.keyboard.press(keys)
        self.page.locator(".quick-input-widget input:focus").fill(text)

    def run(self, command: str) -> None:
        """Run a command of the palette by its title."""
        self.ask("F1", f">{command}")
        self.page.locator(".quick-input-list .monaco-list-row").first.wait_for()
        self.page.keyboard.press("Enter")

    def open(self, path: str) -> None:
        self.ask("Control+p", path)
        self.page.locator(".quick-input-list .monaco-list-row", has_text=Path(path).name).first.wait_for()
        self.page.keyboard.press("Enter")
        self.page.locator(".tab.active", has_text=Path(path).name).wait_for()

    def go_to(self, line: int, column: int) -> None:
        self.ask("Control+g", f":{line}:{column}")
        self.page.keyboard.press("Enter")
        self.text(".statusbar", f"Ln {line}, Col {column}")

    def replace(self, line: int, column: int, length: int, text: str) -> None:
        self.go_to(line, column)
        for _ in range(length):
            self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Escape")

    def feature(self, name: str, show: Callable[[], None]) -> None:
        """Try a feature, and take a screenshot of it."""
        try:
            show()
            self.worked[name] = "works"
        except (AssertionError, Error) as error:
            self.worked[name] = f"FAILED: {str(error).splitlines()[0]}"
        self.page.screenshot(path=self.folder / f"editor-{re.sub(r'[^a-z]+', '-', name.lower())}.png")
        print(f"{name}: {self.worked[name]}", flush=True)
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Escape")

    def text(self, selector: str, text: str) -> None:
        expect(self.page.locator(selector, has_text=text).first).to_be_visible(timeout=PATIENCE)


def take(tour: Tour) -> None:
    page, keys = tour.page, tour.page.keyboard
    tour.open("totals.sql")

    def lenses() -> None:
        tour.text(".codelens-decoration", "Run unit tests")
        tour.text(".codelens-decoration", "Verdict against main")

    def hover() -> None:
        tour.go_to(3, 72)
        tour.run("Show or Focus Hover")
        tour.text(".monaco-hover", "Clicks of people")

    def hover_column() -> None:
        tour.go_to(5, 24)
        tour.run("Show or Focus Hover")
        tour.text(".monaco-hover", "double")

    def definition() -> None:
        tour.go_to(3, 72)
        keys.press("F12")
        tour.text(".tab.active", "stg_clicks.sql")
        tour.open("totals.sql")

    def references() -> None:
        tour.go_to(3, 72)
        keys.press("Shift+F12")
        tour.text(".reference-zone-widget", "everything.sql")

    def completion() -> None:
        tour.replace(5, 21, 5, "eu")
        keys.press("Control+Space")
        tour.text(".suggest-widget", "euros")

    def diagnostics() -> None:
        tour.replace(5, 21, 2, "euro")
        tour.run("Problems: Focus on Problems View")
        tour.text(".markers-panel", "column 'euro' does not exist")
        tour.run("Focus Active Editor Group")

    def quick_fix() -> None:
        tour.go_to(5, 22)
        keys.press("Control+.")
        tour.text(".action-widget", "Change to 'euros'")
        keys.press("Enter")
        tour.text(".view-lines", "sum(euros)")

    def rename() -> None:
        tour.go_to(5, 31)
        keys.press("F2")
        page.locator(".rename-box input:focus").wait_for()
        page.locator(".rename-box input:focus").fill("all_euros")
        keys.press("Enter")
        tour.text(".view-lines", "as all_euros")

    def lens_runs() -> None:
        tour.run("File: Save All Files")
        page.locator(".codelens-decoration a", has_text="Show plan").first.click()
        tour.text(".xterm-rows", "totals")
        tour.text(".xterm-rows", "state")

    for name, show in (
        ("Code lenses", lenses), ("Hover of a model", hover), ("Hover of a column", hover_column),
        ("Definition", definition), ("References", references), ("Completion", completion),
        ("Diagnostics", diagnostics), ("Quick fix", quick_fix), ("Rename", rename),
        ("A lens runs in the terminal", lens_runs),
    ):  # fmt: skip
        tour.feature(name, show)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        project = write_shop(Path(temporary, "shop"))
        shutil.rmtree(project / "target", ignore_errors=True)
        with served(project, Path(temporary, "data")) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 940, "height": 500})
            page.set_default_timeout(PATIENCE)
            page.goto(address)
            page.locator(".monaco-workbench").wait_for()
            page.locator(".explorer-folders-view", has_text="pyproject.toml").wait_for()
            tour = Tour(page, folder)
            take(tour)
    failed = [name for name, result in tour.worked.items() if result != "works"]
    print(f"{len(tour.worked) - len(failed)} of {len(tour.worked)} work")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
