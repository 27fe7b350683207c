"""What `review` says if it can't compare: the version that the remedy names can be compared with."""

import subprocess

import pytest
from remedies_of_projects import MODEL
from support.reviews import commit, git, repository
from support.sql_plans import project
from test_tried_codes import reported_by

from millstream.review.base_version import version_in_git


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_project_without_git_is_compared_with_a_manifest(root):
    project(root, {"m": MODEL})
    ((code, remedy),) = reported_by(["review"])
    assert (code, remedy) == ("MS720", "compare with a manifest instead: --against-manifest FILE")
    assert reported_by(["compile"]) == []
    (root / "target/manifest.json").rename(root / "before.json")
    assert reported_by(["review", "--against-manifest", "before.json"]) == []


def test_a_repository_without_a_main_branch(root):
    project(root, {"m": MODEL})
    git(root, "init", "-q", "-b", "trunk", ".")
    commit(root)
    ((code, remedy),) = reported_by(["review"])
    assert (code, remedy) == ("MS721", "name a branch, tag or commit: --against REF")
    assert reported_by(["review", "--against", "trunk"]) == []


def test_a_branch_that_only_the_server_has(root):
    server = repository(project(root / "server", {"m": MODEL}))
    git(server, "branch", "release")
    git(root, "clone", "-q", "--single-branch", "--no-local", "--depth=1", f"file://{server}", "mine")
    git(root / "mine", "remote", "set-branches", "origin", "main")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root / "mine")
        ((code, remedy),) = reported_by(["review", "--against", "release"])
        fetch = "git fetch --depth=1 origin release"
        assert (code, remedy) == ("MS721", f"{fetch}, then compare with FETCH_HEAD")
        git(root / "mine", *fetch.split()[1:])
        assert reported_by(["review", "--against", "FETCH_HEAD"]) == []


def test_a_version_in_which_the_project_did_not_exist(root):
    (root / "README.md").write_text("Soon\n")
    repository(root)
    project(root, {"m": MODEL})
    commit(root)
    ((code, remedy),) = reported_by(["review", "--against", "HEAD~1"])
    assert (code, remedy) == ("MS722", "compare with a version that has it")
    assert reported_by(["review", "--against", "HEAD"]) == []


def test_a_version_that_does_not_compile(root):
    repository(project(root, {"m": MODEL}))
    (root / "models/m.sql").write_text(MODEL.replace("type", "tpye"))
    commit(root)
    (root / "models/m.sql").write_text(MODEL)
    ((code, remedy),) = reported_by(["review", "--against", "HEAD"])
    expected = "to review state, topics and cost, compare with a version that compiles"
    assert (code, remedy) == ("MS726", expected)
    assert reported_by(["review", "--against", "HEAD~1"]) == []


def test_a_clone_that_lacks_a_file(root):
    server = repository(project(root / "server", {"m": MODEL}))
    git(root, "clone", "-q", "--no-local", f"file://{server}", "mine")
    mine = root / "mine"
    blob = git(mine, "rev-parse", "HEAD:models/m.sql")
    for pack in (mine / ".git/objects/pack").iterdir():
        pack.rename(root / pack.name)
    for pack in root.glob("*.pack"):
        subprocess.run(["git", "unpack-objects", "-q"], cwd=mine, check=True, input=pack.read_bytes())
    (mine / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(mine)
        ((code, remedy),) = reported_by(["review", "--against", "HEAD"])
        assert code == "MS723"
        assert "git fetch --refetch" in remedy
        git(mine, "fetch", "--refetch", "-q")
        assert reported_by(["review", "--against", "HEAD"]) == []


def test_a_branch_that_lacks_commits_of_main(root):
    repository(project(root, {"m": MODEL}))
    git(root, "checkout", "-q", "-b", "mine")
    git(root, "checkout", "-q", "main")
    (root / "models/theirs.sql").write_text(MODEL)
    commit(root)
    git(root, "checkout", "-q", "mine")
    ((code, remedy),) = reported_by(["review", "--against", "main"])
    assert code == "MS727"
    assert "--merge-base" in remedy
    assert reported_by(["review", "--against", "main", "--merge-base"]) == []


def test_a_link_to_outside_of_the_repository(root):
    shop = project(root / "shop", {"m": MODEL})
    (root / "other.sql").write_text(MODEL)
    (shop / "models/other.sql").symlink_to(root / "other.sql")
    repository(shop)
    (warning,) = version_in_git(shop, "main")[1]
    assert (warning.code, warning.help) == (
        "MS724",
        "its files are treated as missing; to compare them, commit the files themselves",
    )
    (shop / "models/other.sql").unlink()
    (root / "other.sql").rename(shop / "models/other.sql")
    commit(shop)
    version, warnings = version_in_git(shop, "main")
    assert warnings == ()
    assert "model.other" in version.manifest.nodes
