"""The site of a large project: `uv run python benchmarks/site.py --models 300 5000`.

How long it takes to make it after a compile, how large it is, and in Chromium (opened as a file): when something
is painted first, and how long each kind of click takes until its picture stands, in milliseconds. The limits are
20 seconds, 40 MB, 1 second and 100 milliseconds. Needs Chromium; `CHROMIUM` says where it is.
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

from generate import generate
from playwright.sync_api import Page, sync_playwright

from millstream.compile import compile_project
from millstream.docs.build import site_of
from millstream.docs.material import gather
from millstream.docs.write import write_site

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
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def clicks(page: Page, models: list[str]) -> dict[str, list[float]]:
    """Click through the site, another model in every round."""
    found: dict[str, list[float]] = {}

    def note(name: str, milliseconds: float) -> None:
        found.setdefault(name, []).append(milliseconds)

    page.evaluate(GO, "#/lineage")  # the map is read once
    for model in models[:ROUNDS]:
        note("overview", page.evaluate(GO, "#/"))
        note("health", page.evaluate(GO, "#/health"))
        note("list of models", page.evaluate(GO, "#/list/model"))
        note("a model's page", page.evaluate(GO, f"#/page/model.{model}"))
        note("lineage, whole", page.evaluate(GO, "#/lineage"))
        note("select a node", page.evaluate(DO, ["svg.canvas .node", {"type": "click"}]))
        note("zoom", page.evaluate(DO, ["svg.canvas", {"type": "key", "key": "-"}]))
        note("shown in the whole", page.evaluate(GO, f"#/lineage?select=model.{model}"))
        note("focus, 1 hop", page.evaluate(GO, f"#/lineage?focus=model.{model}"))
        note("focus, 3 hops", page.evaluate(GO, f"#/lineage?focus=model.{model}&up=3&down=3"))
        note("path", page.evaluate(GO, f"#/lineage?from=source.app.topic_01&to=model.{model}"))
        note("column lineage", page.evaluate(GO, f"#/lineage?column=model.{model}.user_id"))
        note("filter", page.evaluate(GO, "#/lineage?stored=sink"))
    page.focus("#search")
    page.wait_for_timeout(200)
    page.wait_for_function("() => document.querySelectorAll('head script').length <= 3", timeout=60_000)
    for text in ("p", "pr", "projection_00", "user_id", "coalesce amount"):
        note("search, a key", page.evaluate(DO, ["#search", {"type": "text", "text": text}]))
    return found


def measure(folder: Path, count: int) -> bool:
    if not (folder / "project").exists():
        generate(folder / "project", count, 1)
    compiled = compile_project(folder / "project")
    before = time.perf_counter()
    sizes = write_site(folder / "site", site_of(gather(folder / "project", compiled, "target")))
    seconds, size = time.perf_counter() - before, sum(sizes.values()) / 1e6
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
    print(f"{count:,} models: made in {seconds:.1f} s, {size:.1f} MB, first paint {statistics.median(paints):.0f} ms")
    for name, each in times.items():
        print(f"  {name:20} median {statistics.median(each):6.0f} ms, slowest {max(each):6.0f} ms")
    middle = max(statistics.median(each) for each in times.values())
    return seconds < 20 and size < 40 and statistics.median(paints) < 1000 and middle < 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=[5000])
    parser.add_argument("--keep", type=Path, help="A folder in which project and site stay for the next time.")
    arguments = parser.parse_args()
    good = True
    for count in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            place = arguments.keep / str(count) if arguments.keep else Path(folder)
            good = measure(place, count) and good
    print("within the limits" if good else "beyond a limit")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
