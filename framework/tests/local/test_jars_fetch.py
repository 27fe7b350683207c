"""Jars come from a repository into the cache, whole or not at all."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.mirror import CONTENT

from millstream.core.errors import MillstreamError
from millstream.local.jars import fetch_jars, jars_folder, missing_jars


def test_files_by_feature(mirror, catalog):
    jars = fetch_jars(["first", "second"], catalog=catalog)
    assert {feature: [file.name for file in files] for feature, files in jars.items()} == {
        "first": ["one-1.0.jar", "two-1.0.jar"],
        "second": ["two-1.0.jar", "three-1.0.jar"],
    }
    assert jars["first"][0].read_bytes() == CONTENT["one"]
    assert sorted(mirror.requests) == [
        "/maven/org/example/tools/one/1.0/one-1.0.jar",
        "/maven/org/example/tools/three/1.0/three-1.0.jar",
        "/maven/org/example/tools/two/1.0/two-1.0.jar",
    ]


def test_only_what_was_asked_for(mirror, catalog):
    fetch_jars(["second"], catalog=catalog)
    assert [jar.artifact for jar in missing_jars(["first"], catalog=catalog)] == ["one"]


def test_the_second_time_nothing_is_fetched(mirror, catalog):
    fetch_jars(["first"], catalog=catalog)
    mirror.requests.clear()
    fetch_jars(["first"], catalog=catalog)
    assert mirror.requests == []


def test_a_later_start_is_quick(mirror, catalog):
    fetch_jars(["first"], catalog=catalog)
    start = time.perf_counter()
    for _ in range(100):
        fetch_jars(["first"], catalog=catalog)
    assert (time.perf_counter() - start) / 100 < 0.01


def test_a_file_that_was_changed_is_fetched_again(mirror, catalog):
    file = fetch_jars(["first"], catalog=catalog)["first"][0]
    file.write_bytes(b"x" * len(CONTENT["one"]))
    fetch_jars(["first"], catalog=catalog)
    assert file.read_bytes() == CONTENT["one"]


def test_a_file_that_was_cut_is_fetched_again(mirror, catalog):
    file = fetch_jars(["first"], catalog=catalog)["first"][0]
    os.truncate(file, 10)
    fetch_jars(["first"], catalog=catalog)
    assert file.read_bytes() == CONTENT["one"]


def test_a_copy_of_the_cache_is_verified_instead_of_fetched(mirror, catalog):
    file = fetch_jars(["first"], catalog=catalog)["first"][0]
    file.write_bytes(CONTENT["one"])
    mirror.requests.clear()
    fetch_jars(["first"], catalog=catalog)
    assert mirror.requests == []


def test_whole_finds_what_hides_behind_the_right_time(mirror, catalog):
    file = fetch_jars(["first"], catalog=catalog)["first"][0]
    times = file.stat()
    file.write_bytes(b"x" * len(CONTENT["one"]))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    fetch_jars(["first"], catalog=catalog)
    assert file.read_bytes() != CONTENT["one"]
    fetch_jars(["first"], catalog=catalog, verify=True)
    assert file.read_bytes() == CONTENT["one"]


def test_progress_ends_at_the_sum(mirror, catalog):
    reports = []
    fetch_jars(["first", "second"], lambda *what: reports.append(what), catalog=catalog)
    total = sum(map(len, CONTENT.values()))
    assert reports[-1] == ("jars", total, total)


@pytest.mark.parametrize("answer", ["cut", 503, 429])
def test_what_passes_is_tried_again(mirror, catalog, answer):
    mirror.answers = [answer, answer]
    assert fetch_jars(["first"], catalog=catalog)["first"][0].read_bytes() == CONTENT["one"]
    assert len(mirror.requests) == 4


def test_a_login_is_sent_and_never_shown(mirror, catalog, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", mirror.url.replace("//", "//ann:sword%20fish@"))
    mirror.files.clear()
    with pytest.raises(MillstreamError) as caught:
        fetch_jars(["first"], catalog=catalog)
    assert mirror.logins[0] == "Basic YW5uOnN3b3JkIGZpc2g="
    assert "sword" not in str(caught.value)


def test_a_mirror_in_a_folder(mirror, catalog, tmp_path, monkeypatch):
    for path, content in mirror.files.items():
        file = tmp_path / f"my mirror{path}"
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", (tmp_path / "my mirror/maven").as_uri())
    assert fetch_jars(["first"], catalog=catalog)["first"][0].read_bytes() == CONTENT["one"]
    assert mirror.requests == []


def test_two_at_once_both_have_all(mirror, catalog):
    with ThreadPoolExecutor(2) as pool:
        fetched = list(pool.map(lambda _: fetch_jars(["first", "second"], catalog=catalog), range(2)))
    assert fetched[0] == fetched[1]
    assert missing_jars(catalog, catalog=catalog, verify=True) == ()
    assert {file.name for file in jars_folder().iterdir()} == {"one-1.0.jar", "two-1.0.jar", "three-1.0.jar"}


def test_a_killed_fetch_leaves_no_jar_and_its_rest_goes(mirror, catalog):
    jars_folder().mkdir(parents=True)
    rest = jars_folder() / ".fetching-abc"
    rest.write_bytes(b"half")
    fetch_jars(["first"], catalog=catalog)
    assert rest.exists()  # it may be on its way
    os.utime(rest, (0, 0))
    fetch_jars(["second"], catalog=catalog)
    assert not rest.exists()


@pytest.mark.long
def test_all_jars_from_the_real_repository(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLSTREAM_")}
    subprocess.run(
        [sys.executable, "-m", "millstream", "debug", "--fetch", "--project-dir", str(tmp_path)],
        env=environment | {"MILLSTREAM_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert len(list((tmp_path / "jars").iterdir())) > 50
