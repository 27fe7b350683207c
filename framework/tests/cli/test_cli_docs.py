"""`millstream docs`."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from millstream.cli.group import millstream
from millstream.docs.exporters import installed_exporters


def test_generate_makes_a_site_in_the_target_folder(run, shop: Path):
    result = run("docs", "generate")
    assert (result.code, result.err) == (0, "")
    assert re.fullmatch(
        r"Generated the site of 2 models: target/docs/index.html \([\d.]+ kB\)\.\n", result.out
    )
    assert (shop / "target/docs/index.html").is_file()
    assert (shop / "target/docs/data/start.js").is_file()


def test_generate_for_programs(run, shop: Path):
    output = run("docs", "generate", "--output", "json", "--to", "site").json
    assert output["diagnostics"] == []
    assert output["site"]["folder"] == "site"
    assert output["site"]["files"] == sum(path.is_file() for path in (shop / "site").rglob("*"))


def test_a_document_goes_to_stdout_and_nothing_else_does(run, shop: Path):
    result = run("docs", "generate", "--format", "asyncapi")
    assert result.code == 0
    assert json.loads(result.out)["info"]["title"] == "shop"
    assert not (shop / "target/docs").exists()


def test_a_document_goes_to_a_file(run, shop: Path):
    result = run("docs", "generate", "--format", "mermaid", "--to", "out/lineage.mmd")
    assert result.out == "Wrote out/lineage.mmd.\n"
    assert (shop / "out/lineage.mmd").read_text().startswith("flowchart LR\n")


def test_alerts_use_the_thresholds_of_the_chosen_target(run, shop: Path):
    targets = (
        "{local: {health: {max_lag: 500}}, production: {health: {max_lag: 7000, max_staleness: 2 minutes}}}"
    )
    (shop / "profiles.yml").write_text(f"shop: {{outputs: {targets}}}\n")
    result = run("docs", "generate", "--format", "alerts", "--target", "production", "--to", "alerts.yml")
    assert (result.code, result.out) == (0, "Wrote alerts.yml.\n")
    (group,) = yaml.safe_load((shop / "alerts.yml").read_text())["groups"]
    expressions = " ".join(rule["expr"] for rule in group["rules"])
    assert " > 7000 and" in expressions
    assert "millstream_seconds_since_batch > 120 unless" in expressions
    assert {rule["labels"]["target"] for rule in group["rules"]} == {"production"}


def test_every_format_is_a_value_of_the_option():
    option = next(param for param in millstream.get_command(None, "docs").params if param.name == "output")
    assert {*installed_exporters()} == set(option.type.choices) - {"text", "json"}


def test_mistakes_of_the_project_are_told_and_no_site_is_made(run, shop: Path):
    (shop / "models/bad.sql").write_text("select nope from {{ ref('totals') }}\n")
    result = run("docs", "generate")
    assert result.code == 2
    assert "models/bad.sql:1:8" in result.err
    assert not (shop / "target/docs").exists()


def test_a_place_that_cannot_be_written(run, shop: Path):
    (shop / "taken").write_text("a file")
    result = run("docs", "generate", "--to", "taken")
    assert result.code == 2
    assert "MS702" in result.err
    assert "taken can't be written" in result.err


def test_a_page_of_somebody_else_is_not_overwritten(run, shop: Path):
    (shop / "index.html").write_text("mine")
    result = run("docs", "generate", "--to", ".")
    assert result.code == 2
    assert "MS709" in result.err
    assert (shop / "index.html").read_text() == "mine"


def test_a_site_is_made_again_in_its_place(run, shop: Path):
    assert run("docs", "generate").code == run("docs", "generate").code == 0


def test_a_format_can_not_be_served(run, shop: Path):
    result = run("docs", "serve", "--format", "badge")
    assert result.code == 2
    assert "use `docs generate` for other formats" in result.err


def test_a_port_that_is_taken(run, shop: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("docs", "serve", "--port", str(taken.getsockname()[1]), "--no-open")
    assert result.code == 2
    assert "MS708" in result.err


@pytest.fixture
def served(shop: Path):
    command = [sys.executable, "-m", "millstream", "docs", "serve", "--port", "0", "--no-open"]
    with subprocess.Popen(command, cwd=shop, text=True, stderr=subprocess.PIPE, env=os.environ) as process:
        message = process.stderr.readline()
        yield re.search(r"http://127\.0\.0\.1:\d+/", message)[0], process
        process.kill()


def status(address: str, **headers: str) -> int:
    try:
        with urlopen(Request(address, headers=headers), timeout=10) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def test_serve_answers_with_the_site_until_it_is_interrupted(served):
    address, process = served
    assert status(address) == 200
    assert status(f"{address}data/start.js") == 200
    assert status(f"{address}data/") == 404, "no lists of folders"
    assert status(f"{address}../manifest.json") == 404, "nothing outside the site"
    assert status(address, Host="evil.example") == 421
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
