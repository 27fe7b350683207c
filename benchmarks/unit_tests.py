"""How long unit tests take: `python benchmarks/unit_tests.py [--stateless 60] [--stateful 40]`, and one alone from a cold shell.

They are tests of the example's models. Those of models with state have two steps, event time that goes on, and run again in other
micro-batches.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

STATELESS = (
    """
  - name: passed_{n}
    model: +valid_partner_events
    given:
      - input: source('shop', 'partner_events')
        rows:
          - {{event_id: e{n}, event_type: valid_view, priority: high, is_valid: true, score: {n}}}
          - {{event_id: e0, event_type: valid_view, priority: spam, is_valid: true}}
    expect: [{{event_id: e{n}, score: {n}}}]
""",
    """
  - name: gaps_{n}
    model: enriched_partner_events
    given: [{{input: ref('valid_partner_events'), rows: [{{event_id: e{n}, score: {n}}}]}}]
    expect: [{{event_id: e{n}, score: {n}, source: unknown}}]
""",
    """
  - name: categories_{n}
    model: +categorized_app_events
    given:
      - input: source('shop', 'app_events')
        rows: [{{event_id: e{n}, user_id: u1, event_type: click, value: {n}.5}}, {{event_id: x, event_type: login}}]
    expect: [{{event_id: e{n}, category: engagement, value: {n}.5}}]
""",
)
STATEFUL = (
    """
  - name: windows_{n}
    model: +region_hit_counts_5s
    steps:
      - given:
          - input: source('shop', 'page_hits')
            rows:
              - {{visitor_key: nl-ut-{n}, path: /, timestamp: 1000}}
              - {{visitor_key: de-nw-{n}, path: /, timestamp: 2000}}
        at: "1970-01-01 00:00:11"
        expect: [{{region: nl-ut, hit_count: 1}}, {{region: de-nw, hit_count: 1}}]
      - given:
          - input: source('shop', 'page_hits')
            rows: [{{visitor_key: nl-ut-{n}, path: /, timestamp: 1000}}, {{visitor_key: nl-ut-{n}, path: /, timestamp: {n}0000}}]
        expect: [{{region: nl-ut, hit_count: 1}}]
""",
    """
  - name: counts_{n}
    model: +user_activity_totals
    steps:
      - given:
          - input: source('shop', 'account_activity')
            rows:
              - {{user_id: u{n}, activity_type: login, score: {n}, timestamp: 1000}}
              - {{user_id: u0, activity_type: click, score: 1, timestamp: 1000}}
        expect: [{{user_id: u{n}, total_score: {n}}}, {{user_id: u0, total_count: 1}}]
      - given:
          - input: source('shop', 'account_activity')
            rows: [{{user_id: u{n}, activity_type: logout, score: 1, timestamp: 2000}}]
        expect: [{{user_id: u{n}, total_count: 2}}]
""",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stateless", type=int, default=60)
    parser.add_argument("--stateful", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = _project(Path(folder), options.stateless, options.stateful)
        subprocess.run([sys.executable, "-m", "millstream", "compile", "-q"], cwd=root, check=True)
        _run(root, "all of them")
        _run(root, "one alone", "--select", "gaps_2")


def _project(root: Path, stateless: int, stateful: int) -> Path:
    for name in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / name, root / name)
    for part in ("models", "macros", "seeds"):
        shutil.copytree(ROOT / part, root / part)
    (root / "tests").mkdir()
    texts = [STATELESS[n % len(STATELESS)].format(n=n + 1) for n in range(stateless)]
    texts += [STATEFUL[n % len(STATEFUL)].format(n=n + 2) for n in range(stateful)]
    (root / "tests/many.yml").write_text("unit_tests:" + "".join(texts))
    return root


def _run(root: Path, what: str, *more: str) -> None:
    began = time.monotonic()
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "millstream", "test", "--unit", "-q", "--no-color", *more], cwd=root, capture_output=True, text=True, check=False
    )  # fmt: skip
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    last = re.sub(r"=+", "", done.stdout.strip().splitlines()[-1]).strip()
    load = os.getloadavg()[0]
    print(
        f"{what}: {time.monotonic() - began:.1f} s, CPU {cpu:.0f} s without the JVM (load {load:.1f}): {last}",
        flush=True,
    )


if __name__ == "__main__":
    main()
