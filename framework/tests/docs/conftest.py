"""Sites of two projects: the example, and one whose author tries to break the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browser import Watched, chromium, watched

from millstream.compile import compile_project
from millstream.compile.manifest import Compiled
from millstream.core.node_id import NodeId
from millstream.docs.export import exported_project
from millstream.docs.exporters.project import ExportedProject
from millstream.docs.generate import site_of, write_site
from millstream.docs.site_input import SiteInput, gather_input
from millstream.docs.values import Site
from millstream.results.run_results import ModelResult, RunResults, write_results
from millstream.results.test_results import (
    MissedPath,
    ModelCoverage,
    TestResult,
    TestResults,
    with_earlier_results,
    write_test_results,
)

EXAMPLE = Path(__file__).resolve().parents[3]
NASTY = "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>"
FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "nasty"\n',
    "profiles.yml": (
        "nasty:\n  outputs:\n    local: {master: local, kafka: {bootstrap_servers: 'k:9092', "
        "security_protocol: SASL_SSL, sasl_mechanism: PLAIN, sasl_username: nasty, "
        "sasl_password: \"{{ env_var('NASTY_PASSWORD') }}\"}}\n"
    ),
    "models/all.yml": f"""\
sources:
  - name: web
    topics:
      - name: clicks
        description: "{NASTY}"
        owner: "{NASTY}"
        key: {{name: user, type: string}}
        columns: [{{name: amount, type: bigint, description: "</script> ends nothing"}}]
models:
  - name: totals
    description: |
      Totals of **users**. See [the book](https://books.example/x), not [this](javascript:alert(3)).

      ![a picture](https://evil.example/picture.png)

      | a | b |
      |---|---|
      | 1 | {NASTY} |
    meta: {{note: "{NASTY}", api_key: hunter2, url: "https://me:hunter2@place.example"}}
    columns: [{{name: user, description: Who, tests: [not_null]}}]
""",
    "models/totals.sql": (
        "{{ config(materialized='table', unique_key='user', tags=['<b>bold</b>']) }}\n"
        "-- </script><script>alert(4)</script>\n"
        "select user, sum(amount) as total, '<i>' as marked from {{ source('web', 'clicks') }} group by user\n"
    ),
    "tests/units.yml": """\
unit_tests:
  - name: sums
    model: totals
    overrides: {env_vars: {API_TOKEN: "hunter2"}}
    given: [{input: "source('web', 'clicks')", rows: [{user: "<b>a</b>", amount: 1}]}]
    expect: [{user: "<b>a</b>", total: 1, marked: "<i>"}]
""",
    "models/names/__proto__.sql": (
        "{{ config(tags=['__proto__', 'constructor', 'javascript:alert(6)'], "
        "meta={'__proto__': 'of its own', 'constructor': 'of its own'}) }}\n"
        "select user as `__proto__`, amount as `a\"b'c\u2028<img src=x onerror=alert(5)>` from {{ ref('totals_of') }}\n"
    ),
    "models/names/constructor.sql": (
        "select `__proto__`, says(`__proto__`) as `constructor` from {{ ref('__proto__') }}\n"
    ),
    "models/names/totals_of.sql": "select user, amount from {{ source('web', 'clicks') }}\n",
    "models/names/names.yml": """\
models:
  - name: constructor
    description: "[a](data:text/html,<script>alert(7)</script>) <svg onload=alert(8)> <!-- \u2028 [b](JaVaScRiPt:alert(9))"
    owner: __proto__
exposures:
  - name: toString
    type: dashboard
    url: "javascript:alert(10)"
    owner: {name: "</script><script>alert(11)</script>", email: "javascript:alert(12)"}
    depends_on: [ref('constructor')]
""",
    "macros/says.py": (
        "def says(text: str) -> str:\n"
        "    # </script><script>alert(13)</script> <!-- \u2028\n"
        "    return '<img src=https://evil.example/y onerror=alert(14)>' + text\n"
    ),
    "models/lonely/unread.sql": "select user, amount from {{ source('web', 'clicks') }} where amount > 3\n",
}


@pytest.fixture(scope="session")
def compiled_nasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Compiled]]:
    root = tmp_path_factory.mktemp("nasty")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    _write_results(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASTY_PASSWORD", "hunter2-of-kafka")
        compiled = compile_project(root, use_cache=False)
        _write_tests(root, compiled.manifest.nodes["model.totals"].checksum)
        yield root, compiled


@pytest.fixture(scope="session")
def nasty(compiled_nasty: tuple[Path, Compiled]) -> SiteInput:
    return gather_input(*compiled_nasty, "target")


@pytest.fixture(scope="session")
def exported_nasty(compiled_nasty: tuple[Path, Compiled]) -> ExportedProject:
    return exported_project(compiled_nasty[1])


def _write_results(root: Path) -> None:
    results = (
        ModelResult(
            NodeId("model", "totals"),
            "error",
            "totals",
            12,
            1.5,
            f"it broke: {NASTY}",
            {NodeId("source", "web.clicks"): 1234},
        ),
    )
    write_results(root / "target", RunResults("build", "nasty", "local", "2026-01-02T03:04:05", 2.0, results))


def _write_tests(root: Path, checksum: str) -> None:
    """Write the results of two test runs; the second one has a single data test."""
    unit = TestResult(
        "unit_test.totals.sums", "unit_test", "fail", 0.2, "tests/units.yml", 2,
        ({"code": "MS651", "message": f"unit test 'sums': a row differs {NASTY}"},), f"- <b>a</b>  1\n+ <b>a</b>  2\nin {root}/macros/f.py, {Path.home()}/x.py",
        "2026-01-02T04:00:00",
    )  # fmt: skip
    test = TestResult(
        "test.not_null_totals_user", "test", "pass", 0.1, "models/all.yml", 9, ran="2026-01-02T05:00:00"
    )
    missed = (MissedPath(f"no row: else of {NASTY}", 2), MissedPath("no row is dropped: amount > 3", 0))
    coverage = (
        ModelCoverage(NodeId("model", "totals"), "models/totals.sql", 1, 4, 2, missed, checksum=checksum),
    )
    first = TestResults("test", "nasty", "local", "2026-01-02T04:00:00", 1.0, (unit,), coverage, "0.1.0")
    second = TestResults("test", "nasty", "local", "2026-01-02T05:00:00", 1.0, (test,), (), "0.1.0")
    write_test_results(root / "target", with_earlier_results(second, first, {unit.id, test.id}))


@pytest.fixture(scope="session")
def compiled_example() -> Compiled:
    return compile_project(EXAMPLE, use_cache=False)


@pytest.fixture(scope="session")
def example(compiled_example: Compiled) -> SiteInput:
    return gather_input(EXAMPLE, compiled_example, "nowhere")


@pytest.fixture(scope="session")
def exported_example(compiled_example: Compiled) -> ExportedProject:
    return exported_project(compiled_example)


@pytest.fixture(scope="session")
def nasty_values(nasty: SiteInput) -> Site:
    return site_of(nasty)


@pytest.fixture(scope="session")
def nasty_site(nasty_values: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nasty_site")
    write_site(folder, nasty_values)
    return folder


@pytest.fixture(scope="session")
def example_values(example: SiteInput) -> Site:
    return site_of(example)


@pytest.fixture(scope="session")
def example_site(example_values: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example_site")
    write_site(folder, example_values)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as chrome:
        yield chrome


@pytest.fixture(scope="module")
def tab(browser: Browser, example_site: Path) -> Iterator[Watched]:
    with watched(browser, example_site) as page:
        yield page


@pytest.fixture
def shop(tab: Watched) -> Watched:
    """Return a page on the example's site, that has not been used yet."""
    tab.page.goto("about:blank")
    return tab


@pytest.fixture
def trap(browser: Browser, nasty_site: Path) -> Iterator[Watched]:
    with watched(browser, nasty_site) as page:
        yield page
