"""`millstream clean`."""

import os
import pty
import re
import subprocess
import sys

import pytest
from support.kafka import pid_told_by, user
from support.terminal import all_shown

from millstream.local.broker import broker_status
from millstream.local.holders import hold_lock
from millstream.local.locks import acquire_lock, open_lock

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs flock")


def fill(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x" * 5000)


@pytest.fixture
def built(shop):
    fill(
        shop, "target/manifest.json", ".millstream/local/tables/t/1.parquet", ".millstream/broker/data/a/0.log",
        ".millstream/old/checkpoints/q/metadata",
    )  # fmt: skip
    return shop


def test_everything_that_was_made_goes_and_nothing_else(run, built):
    result = run("clean")
    assert (result.code, result.err) == (0, "")
    assert [line.rpartition(",")[0] for line in result.out.splitlines()] == [
        "removed target: 1 file", "removed .millstream: 3 files",
    ]  # fmt: skip
    assert sorted(path.name for path in built.iterdir()) == ["models", "pyproject.toml"]
    assert run("clean").out == "there is nothing to remove\n"


def test_artifacts_alone(run, built):
    output = run("clean", "--artifacts", "--output", "json").json
    assert [(removed["path"], removed["files"]) for removed in output["removed"]] == [("target", 1)]
    assert output["bytes"] >= 5000
    assert (built / ".millstream/broker").is_dir()


def test_one_target_alone_though_profiles_have_it_no_more(run, built):
    assert run("clean", "--target", "old").out.startswith("removed .millstream/old: 1 file")
    assert sorted(path.name for path in (built / ".millstream").iterdir()) == ["broker", "local"]
    assert (built / "target").is_dir()


def test_a_target_that_is_named_as_the_broker_s_folder_leaves_the_topics_alone(run, built):
    fill(built, ".millstream/@62roker/tables/t/1.parquet")
    assert run("clean", "--target", "broker").out.startswith("removed .millstream/@62roker: 1 file")
    assert (built / ".millstream/broker/data/a/0.log").is_file()


PROFILES = """
shop:
  target: there
  outputs:
    local: {master: "local[*]", kafka: embedded}
    there:
      master: local
      kafka: embedded
      checkpoints: s3a://lake/checkpoints
      tables: {path: kept, url: "postgresql://ann:hunter2@db/shop", store: postgres}
"""


def test_what_is_in_other_places_is_told(run, built):
    (built / "profiles.yml").write_text(PROFILES)
    fill(built, "kept/totals/1.parquet")
    assert run("clean").out.splitlines()[-3:] == [
        "checkpoints of target 'there' are left: s3a://lake/checkpoints",
        f"tables of target 'there' are left: {built}/kept",
        "tables of target 'there' are left: postgresql://db/shop, schema public",
    ]
    assert "left" not in run("clean", "--target", "local").out
    assert run("clean", "--output", "json").json["left"][1]["place"] == f"{built}/kept"


def test_a_profile_that_can_not_be_read_does_not_matter(run, built):
    (built / "profiles.yml").write_text("shop: [")
    assert (run("clean").code, (built / ".millstream").exists()) == (0, False)


@pytest.mark.parametrize("name", ["../..", "nope", "."])
def test_an_unknown_target(run, built, name):
    result = run("clean", "--target", name)
    assert (result.code, "MS112" in result.err) == (2, True)
    assert (built / ".millstream/local").is_dir()


def test_a_link_goes_and_what_it_points_to_stays(run, built, tmp_path):
    fill(tmp_path, "elsewhere/1")
    (built / "target/link").symlink_to(tmp_path / "elsewhere")
    (built / ".millstream/local/link").symlink_to(tmp_path / "elsewhere")
    assert run("clean").code == 0
    assert (tmp_path / "elsewhere/1").is_file()


@pytest.mark.parametrize("path", ["models", "..", ".", "../other"])
def test_a_target_path_that_is_more_than_that(run, built, path):
    fill(built.parent, "other/1")
    (built / "pyproject.toml").write_text(f'[tool.millstream]\nname = "shop"\ntarget-path = "{path}"\n')
    result = run("clean")
    assert (result.code, "error[MS" in result.err) == (2, True)
    assert (built / "models/totals.sql").is_file()
    assert (built.parent / "other/1").is_file()


def test_a_build_that_runs(run, built):
    with open_lock(built / ".millstream/local/build.lock") as handle:
        acquire_lock(handle, 1)
        result = run("clean")
        assert (result.code, "error[MS874]: another command is using the target 'local'" in result.err) == (
            2,
            True,
        )
        assert (built / ".millstream/local/tables").is_dir()
        assert run("clean", "--force").code == 0


def test_a_command_that_runs_is_named(run, built, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/millstream", "run", "--vars", "{password: swordfish}"])
    lock_file = built / ".millstream/local/build.lock"
    with open_lock(lock_file) as handle:
        acquire_lock(handle, 1)
        with hold_lock(handle):
            output = run("clean").err
    assert re.search(
        rf"`millstream run` \(process {os.getpid()}, since \d\d:\d\d:\d\d\) is using the target 'local'",
        output,
    )
    assert lock_file.read_text() == ""


def test_a_broker_in_use_goes_on_until_forced(run, shop):
    with user(shop) as process:
        pid_told_by(process)
        result = run("clean")
        assert (result.code, "MS874" in result.err) == (2, True)
        assert broker_status(shop).state == "running"
        assert run("clean", "--force").code == 0
    assert not (shop / ".millstream").exists()
    assert broker_status(shop).state == "stopped"


@pytest.mark.parametrize(
    ("message", "arguments", "left"), [(b"n\n", [], True), (b"y\n", [], False), (b"", ["-y"], False)]
)
def test_confirmation_on_a_terminal(built, message, arguments, left):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "millstream", "clean", *arguments]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, cwd=built) as process:
        os.write(ours, message)
        out = process.communicate(timeout=30)[0]
    os.close(theirs)
    shown = all_shown(ours)
    assert (b"Remove .millstream (" in shown) == bool(message)
    assert (built / ".millstream").is_dir() == left
    assert out.startswith(b"nothing was removed" if left else b"removed target")
