"""What of a project is packaged, and what is not."""

import pytest

from millstream.core.errors import MillstreamError
from millstream.engine.spark.jars import features_of
from millstream.ops.package.copying import copy_project
from millstream.ops.package.facts import EnvironmentVariable, facts_of
from millstream.ops.package.project_files import project_files
from millstream.project.load import load_project


def loaded(root, target="production"):
    return load_project(root, target, None, None)


def paths(root, *included):
    return set(project_files(loaded(root), included, None))


def test_only_what_a_project_is_loaded_from_is_packaged(shop):
    assert paths(shop) == {
        "pyproject.toml", "profiles.yml", "models/sources.yml", "models/seen.sql", "macros/shout.py", "words.py",
    }  # fmt: skip


def test_more_files_can_be_included(shop):
    assert paths(shop, "certificates", "*.txt") - paths(shop) == {"certificates/ca.pem", "notes.txt"}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("certs/*.pem", "names no file"), ("../x", "is outside"), ("/etc/passwd", "is outside")],
)
def test_an_unknown_file_is_reported(shop, pattern, message):
    with pytest.raises(MillstreamError) as error:
        paths(shop, pattern)
    assert "MS667" in str(error.value)
    assert message in str(error.value)


def test_profiles_of_elsewhere_are_packaged(shop, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (shop / "profiles.yml").rename(tmp_path / "elsewhere/profiles.yml")
    project = load_project(shop, "production", None, tmp_path / "elsewhere")
    files = project_files(project, (), tmp_path / "elsewhere")
    assert files["profiles.yml"] == tmp_path / "elsewhere/profiles.yml"


def test_a_secret_in_plain_text_of_any_target_is_refused(shop):
    profiles = (shop / "profiles.yml").read_text()
    other = "    local: {kafka: {bootstrap_servers: k:9, sasl_password: swordfish}}"
    (shop / "profiles.yml").write_text(
        profiles.replace('    local: {master: "local[*]", kafka: embedded}', other)
    )
    with pytest.raises(MillstreamError) as error:
        paths(shop)
    assert "MS666" in str(error.value)
    assert "swordfish" not in str(error.value) + str(error.value.diagnostics)


def test_variables_of_the_target_are_named(shop):
    facts = facts_of(loaded(shop), None, 3)
    assert facts.variables == (
        EnvironmentVariable("BOOTSTRAP", optional=False), EnvironmentVariable("KAFKA_PASSWORD", optional=False),
        EnvironmentVariable("KAFKA_USERNAME", optional=True), EnvironmentVariable("REGION", optional=True),
    )  # fmt: skip
    assert (facts.cores, facts.memory) == (4, 4096 + 1024 + 1024)
    assert facts_of(loaded(shop, "local"), None, 3).variables == (
        EnvironmentVariable("REGION", optional=True),
    )


def test_the_client_of_s3_is_packaged_where_a_target_needs_it(shop):
    assert "s3" in features_of(loaded(shop).target)
    assert "s3" not in features_of(loaded(shop, "local").target)
    profiles = (shop / "profiles.yml").read_text()
    packages = "spark: {spark.jars.packages: 'org.apache.hadoop:hadoop-aws:3.5.0', "
    (shop / "profiles.yml").write_text(profiles.replace("spark: {", packages))
    assert "s3" not in features_of(loaded(shop).target)


def package(folder, identity, **files):
    folder.mkdir()
    (folder / "SHA256SUMS").write_text(identity)
    for path, text in files.items():
        (folder / "project/models").mkdir(parents=True, exist_ok=True)
        (folder / f"project/models/{path}.sql").write_text(text)
    return folder


def test_a_read_only_project_is_copied_once_and_replaced_by_a_newer_one(tmp_path):
    first = package(tmp_path / "one", "1", a="select 1", b="select 2")
    for path in (first / "project").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = copy_project(first, tmp_path / "work")
    (root / ".millstream").mkdir()
    (root / ".millstream/log").write_text("kept")
    (root / "models/a.sql").write_text("edited")
    assert copy_project(first, tmp_path / "work") == root
    assert (root / "models/a.sql").read_text() == "edited"
    copy_project(package(tmp_path / "two", "2", a="select 3"), tmp_path / "work")
    files = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
    assert files == {".package": "2", ".millstream/log": "kept", "models/a.sql": "select 3"}


def test_a_place_with_other_files_is_refused(shop, run, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/precious").write_text("x")
    result = run("--to", str(tmp_path / "other"))
    assert result.exit_code == 2
    assert "error[MS665]" in result.stderr
    assert "such as precious" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["shop", "other"] or len(
        list(tmp_path.iterdir())
    ) == 2


def test_a_package_needs_a_project_that_compiles(shop, run):
    (shop / "models/seen.sql").write_text("select nothing from nowhere")
    assert run().exit_code == 2
