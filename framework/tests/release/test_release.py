"""What a release is made of: the same bytes each time, a bill of materials, advisories, and a dry run of all of it."""

import hashlib
import importlib
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[3]
CI = ROOT / ".ci"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(CI))
    return importlib.import_module


def test_every_jar_has_a_checksum_of_256_bits():
    catalogs = [
        ROOT / "framework/millstream/local/jars/jars.toml",
        *(ROOT / "framework/millstream/stores").glob("*/jars.toml"),
    ]
    lines = [line for file in catalogs for line in file.read_text().splitlines() if line.startswith('"')]
    assert len(lines) > 50
    assert [line for line in lines if not re.search(r'sha256 = "[0-9a-f]{64}", size = \d+', line)] == []


def test_every_package_has_a_checksum():
    lock = (ROOT / "uv.lock").read_text()
    files = re.findall(r"^\s*(?:sdist = )?\{ url = \"[^\n]*", lock, re.MULTILINE)
    assert len(files) > 500
    assert [line for line in files if 'hash = "sha256:' not in line] == []


def test_the_bill_of_materials_has_every_package_and_jar(modules, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    bill = modules("sbom").sbom()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    purls = {component["purl"] for component in bill["components"]}
    pyproject = (ROOT / "pyproject.toml").read_text().partition("[project.scripts]")[0]
    for name in re.findall(r'^  "([a-z0-9-]+)[\[<>=]', pyproject, re.MULTILINE):
        assert any(purl.startswith(f"pkg:pypi/{name}@") for purl in purls), name
    jars = [component for component in bill["components"] if component["purl"].startswith("pkg:maven/")]
    content = (ROOT / "framework/millstream/local/jars/jars.toml").read_text()
    for group, name, version, checksum in re.findall(
        r'^"([^:]+):([^:]+):([^:"]+)[^=]*= \{sha256 = "(\w+)"', content, re.MULTILINE
    ):
        assert any(
            (component["group"], component["name"], component["version"]) == (group, name, version)
            and component["hashes"] == [{"alg": "SHA-256", "content": checksum}]
            for component in jars
        ), name
    assert modules("sbom").sbom() == bill


ADVISORIES = [
    {
        "id": "PYSEC-2019-217",
        "summary": "sandbox escape",
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "Jinja2"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2.10.1"}]}],
            }
        ],
    },
    {
        "id": "PYSEC-LAST",
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "py_yaml"},
                "ranges": [
                    {"type": "GIT", "events": [{"introduced": "0"}]},
                    {"type": "ECOSYSTEM", "events": [{"introduced": "5.0"}, {"last_affected": "5.4"}]},
                ],
            }
        ],
    },
    {
        "id": "GHSA-JAR",
        "affected": [{"package": {"ecosystem": "Maven", "name": "a:b"}, "versions": ["1.0", "1.1"]}],
    },
    {
        "id": "WITHDRAWN",
        "withdrawn": "2020-01-01T00:00:00Z",
        "affected": [{"package": {"ecosystem": "Maven", "name": "a:b"}, "versions": ["1.1"]}],
    },
]


@pytest.mark.parametrize(
    ("ecosystem", "name", "version", "ids"),
    [
        ("PyPI", "jinja2", "2.10", ["PYSEC-2019-217"]),
        ("PyPI", "jinja2", "2.10.1", []),
        ("PyPI", "py-yaml", "5.4", ["PYSEC-LAST"]),
        ("PyPI", "py-yaml", "5.4.1", []),
        ("PyPI", "py-yaml", "4.9", []),
        ("Maven", "a:b", "1.1", ["GHSA-JAR"]),
        ("Maven", "a:b", "1.2", []),
        ("PyPI", "a:b", "1.1", []),
    ],
)
def test_an_advisory_is_found_by_version(modules, ecosystem, name, version, ids):
    component = modules("components").Component(ecosystem, name, version)
    assert [id_ for _, id_, _ in modules("audit").findings([component], ADVISORIES)] == ids


def test_advisories_are_read_from_a_zip_and_from_a_folder(tmp_path):
    newest = {
        "id": "PYSEC-NOW",
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "jinja2"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}],
            }
        ],
    }
    folder = tmp_path / "advisories"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(newest))
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("one.json", json.dumps(newest))
    for path in (folder, tmp_path / "all.zip"):
        environment = os.environ | {"MILLSTREAM_ADVISORIES": str(path)}
        done = subprocess.run([CI / "audit"], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, "jinja2" in done.stdout) == (1, True), done.stderr
    (folder / "one.json").write_text(json.dumps({**newest, "withdrawn": "2020-01-01T00:00:00Z"}))
    environment["MILLSTREAM_ADVISORIES"] = str(folder)
    done = subprocess.run([CI / "audit"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert re.search(r"\d+ components, 0 advisories", done.stdout)


@pytest.mark.long
def test_a_dry_run_of_a_release(tmp_path):
    """Two checkouts give the same bytes, whose files are those of the repository."""
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
    version = subprocess.check_output(["uv", "version", "--short"], cwd=ROOT, text=True).strip()
    environment = os.environ | {"MILLSTREAM_DRY_RUN": "1"}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        [checkout / ".ci/release", version, tmp_path / "dist"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    checksums = dict(line.split()[::-1] for line in (tmp_path / "dist/SHA256SUMS").read_text().splitlines())
    assert {Path(name).suffix for name in checksums} == {".whl", ".gz", ".json"}
    for name, checksum in checksums.items():
        assert hashlib.sha256((tmp_path / "dist" / name).read_bytes()).hexdigest() == checksum
    with ZipFile(tmp_path / f"dist/millstream-{version}-py3-none-any.whl") as wheel:
        names = {name for name in wheel.namelist() if name.startswith("millstream/")}
    tracked = subprocess.check_output(["git", "ls-files", "framework/millstream"], cwd=checkout, text=True)
    assert names == {line.removeprefix("framework/") for line in tracked.splitlines()}
    with tarfile.open(tmp_path / f"dist/millstream-{version}.tar.gz") as archive:
        assert not [name for name in archive.getnames() if "/framework/tests/" in name]


def test_a_release_needs_a_clean_tree(tmp_path):
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", checkout], check=True)
    (checkout / "more.txt").write_text("x")
    done = subprocess.run([checkout / ".ci/release", "0.0.0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: the working tree has changes\n")
