"""The site of a large project: `uv run python benchmarks/site.py --models 300 5000`.

How long it takes to make it after a compile, how large it is, and in Chromium (opened as a file): when something
is painted first, and how long each kind of click takes until its picture stands, in milliseconds. The limits are
20 seconds, 40 MB, 1 second and 100 milliseconds. Needs Chromium; `CHROMIUM` says where it is.
`--plan` makes it with the plan and its queries, which is left out by itself beyond 1,000 models.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from generate import generate
from playwright.sync_api import Page, sync_playwright

from millstream.compile import compile_project
from millstream.docs.generate import site_of, write_site
from millstream.docs.site_input import gather_input

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ROUNDS = 5
GO = """
async (address) => {
  const before = performance.now();
  location.hash = address;
  await new Promise((resolve) => {
    const look = () => (document.getElementById('main').dataset.shown === address ? resolve() : setTimeout(look));
    look();
  });
  return performance.now() - before;
}
"""
DO = """
async ([selector, act]) => {
  const element = document.querySelector(selector);
  const before = performance.now();
  if (act.type === 'click') {
    const at = element.getBoundingClientRect();
    for (const type of ['pointerdown', 'pointerup', 'click']) {
      element.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX: at.x + 9, clientY: at.y + 9, pointerId: 1}));
    }
  } else if (act.type === 'key') element.dispatchEvent(new KeyboardEvent('keydown', {key: act.key, bubbles: true}));
  else {
    element.value = act.text;
    element.dispatchEvent(new Event('input', {bubbles: true}));
  }
  document.body.getBoundingClientRect();
  return performance.now() - before;
}
"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


class Times(NamedTuple):
    wall: list[float]
    cpu: list[float]


class Clicks:
    """Times of clicks by their kinds: until the picture stands, and the CPU time of the page's thread with painting.

    On a machine with other work the first says how busy it is, the second what a click costs; either may be
    within the limits.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.times: dict[str, Times] = {}
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def note(self, name: str, script: str, argument: object) -> None:
        before = self._cpu()
        wall = self.page.evaluate(script, argument)
        self.page.evaluate(FRAMES)
        times = self.times.setdefault(name, Times([], []))
        times.wall.append(wall)
        times.cpu.append(self._cpu() - before)

    def _cpu(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration") * 1000


def clicks(page: Page, models: list[str]) -> dict[str, Times]:
    """Click through the site, another model in every round."""
    page_clicks = Clicks(page)
    for model in models[:ROUNDS]:
        for name, address in (
            ("overview", "#/"),
            ("health", "#/health"),
            ("list of models", "#/list/model"),
            ("a model's page", f"#/page/model.{model}"),
            ("lineage, folders", "#/lineage?by=folders"),
            ("lineage, whole", "#/lineage?by=none"),
        ):
            page_clicks.note(name, GO, address)
        page_clicks.note("select a node", DO, ["svg.canvas .node", {"type": "click"}])
        page_clicks.note("zoom", DO, ["svg.canvas", {"type": "key", "key": "-"}])
        for name, address in (
            ("shown in the whole", f"#/lineage?select=model.{model}"),
            ("focus, 1 hop", f"#/lineage?focus=model.{model}"),
            ("focus, 3 hops", f"#/lineage?focus=model.{model}&up=3&down=3"),
            ("path", f"#/lineage?from=source.app.topic_01&to=model.{model}"),
            ("column lineage", f"#/lineage?column=model.{model}.user_id"),
            ("filter", "#/lineage?stored=sink"),
            ("a folder", "#/lineage?folder=layer_05"),
        ):
            page_clicks.note(name, GO, address)
    page.focus("#search")
    page.wait_for_timeout(200)
    page.wait_for_function("() => document.querySelectorAll('head script').length <= 3", timeout=60_000)
    for text in ("p", "pr", "projection_00", "user_id", "coalesce amount"):
        page_clicks.note("search, a key", DO, ["#search", {"type": "text", "text": text}])
    return page_clicks.times


def measure(folder: Path, count: int, *, plan: bool | None) -> bool:
    if not (folder / "project").exists():
        generate(folder / "project", count, 1)
    compiled = compile_project(folder / "project")
    before, cpu = time.perf_counter(), time.process_time()
    sizes = write_site(
        folder / "site", site_of(gather_input(folder / "project", compiled, "target", plan=plan))
    )
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    size = sum(sizes.values()) / 1e6
    models = [name.partition(".")[2] for name in compiled.manifest.nodes if name.startswith("model.")]
    chosen = models[:: max(1, len(models) // ROUNDS)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        paints = []
        for _ in range(3):
            page.goto("about:blank")
            page.goto((folder / "site" / "index.html").as_uri())
            page.wait_for_function("() => document.getElementById('main').dataset.shown")
            paints.append(page.evaluate(PAINT))
        times = clicks(page, chosen)
        browser.close()
    print(
        f"{count:,} models: made in {seconds:.1f} s (CPU {cpu:.1f} s), {size:.1f} MB, first paint {statistics.median(paints):.0f} ms"
    )
    for name, durations in times.items():
        print(
            f"  {name:20} {statistics.median(durations.wall):5.0f} ms (slowest {max(durations.wall):5.0f}), "
            f"CPU with painting {statistics.median(durations.cpu):5.0f} ms (first {durations.cpu[0]:5.0f})"
        )
    middle = max(
        min(statistics.median(durations.wall), statistics.median(durations.cpu))
        for durations in times.values()
    )
    return min(seconds, cpu) < 20 and size < 40 and statistics.median(paints) < 1000 and middle < 100


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, nargs="+", default=[5000])
    parser.add_argument("--plan", action="store_true", default=None, help="With the plan, whatever the size.")
    parser.add_argument(
        "--keep", type=Path, help="A folder in which project and site stay for the next time."
    )
    arguments = parser.parse_args()
    good = True
    for count in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            root = arguments.keep / str(count) if arguments.keep else Path(folder)
            good = measure(root, count, plan=arguments.plan) and good
    print("within the limits" if good else "beyond a limit")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
