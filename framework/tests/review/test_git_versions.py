"""Versions of a project in real repositories."""

import os
import shutil
from pathlib import Path

import pytest
from support.reviews import commit, git, repository, written
from support.schema_cases import field, record

from millstream.cli.commands.init import make_repository
from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.review.base_version import version_in_git
from millstream.review.compare import review_versions
from millstream.review.git import find_commit, find_repository, missing_commits
from millstream.review.rebuild_cost import collect_figures
from millstream.review.version import version_of

MODELS = {"clicks": "select user_id, amount from {{ source('shop', 'events') }}"}


@pytest.fixture
def shop(tmp_path):
    return repository(written(tmp_path / "shop", MODELS))


def older(root, name="main", **options):
    return version_in_git(root, name, **options)


def columns(version):
    return [column.name for column in version.manifest.nodes["model.clicks"].columns]


def compared_with_main(root):
    now = version_of("now", compile_project(root), root)
    old, warnings = older(root)
    return review_versions(old, now, collect_figures(now.manifest, {}, None)), warnings


def described(error):
    (diagnostic,) = error.value.diagnostics
    return diagnostic.code, f"{diagnostic.message}: {diagnostic.help}"


def test_a_version_is_read_without_touching_the_working_tree(shop):
    (shop / "models/clicks.sql").write_text("select user_id from {{ source('shop', 'events') }}")
    before = git(shop, "status", "--porcelain")
    base, warnings = older(shop)
    assert (columns(base), warnings) == (["user_id", "amount"], ())
    assert git(shop, "status", "--porcelain") == before
    assert (shop / "models/clicks.sql").read_text().startswith("select user_id from")


def test_tags_ids_and_branches_are_versions(shop):
    git(shop, "tag", "v1")
    first = git(shop, "rev-parse", "HEAD")
    for name in ("v1", first, first[:8], "main", "HEAD"):
        assert older(shop, name)[0].commit == first[:10]


def test_a_project_in_a_folder_of_a_repository(tmp_path):
    written(tmp_path / "team/shop", MODELS)
    (tmp_path / "team/readme.md").write_text("not ours")
    repository(tmp_path)
    base, _ = older(tmp_path / "team/shop")
    assert columns(base) == ["user_id", "amount"]
    assert base.root is not None
    assert not list(base.root.rglob("readme.md"))


def test_the_innermost_of_two_repositories_counts(tmp_path):
    (tmp_path / "file").write_text("outside")
    repository(tmp_path)
    shop = repository(written(tmp_path / "shop", MODELS))
    assert find_repository(shop).folder == shop.resolve()
    assert columns(older(shop)[0]) == ["user_id", "amount"]


def test_an_unknown_name_has_a_near_one(shop):
    with pytest.raises(MillstreamError) as error:
        older(shop, "mian")
    assert described(error) == ("MS721", "there is no branch, tag or commit 'mian': did you mean 'main'?")


def test_a_name_that_looks_like_an_option_is_a_name(shop):
    with pytest.raises(MillstreamError) as error:
        older(shop, "--output=/tmp/x")
    assert described(error)[0] == "MS721"


@pytest.mark.parametrize(
    "name",
    ["--upload-pack=touch hacked", "-x", "a b; touch hacked", "$(touch hacked)", "`touch hacked`", "a\nb"],
)
def test_a_remedy_with_a_hostile_name_is_safe_to_paste(shop, tmp_path, name):
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{shop}", "clone")
    for root in (shop, tmp_path / "clone"):
        with pytest.raises(MillstreamError) as error:
            older(root, name)
        (diagnostic,) = error.value.diagnostics
        command = "git fetch --depth=1 origin BRANCH, then compare with FETCH_HEAD"
        assert diagnostic.code == "MS721"
        assert diagnostic.help.removeprefix("if it is on the server: ") == command
    assert not [*tmp_path.rglob("hacked")]
    assert not Path("hacked").exists()


def test_git_sees_only_what_it_needs(shop, tmp_path, monkeypatch):
    seen, real = tmp_path / "seen", shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\nenv >> {seen}\nexec {real} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    needed = {
        "HOME": str(tmp_path), "SSH_AUTH_SOCK": "/agent", "GIT_ASKPASS": "/ask", "https_proxy": "http://proxy", "LC_CTYPE": "C",
    }  # fmt: skip
    secrets = {"SHOP_PASSWORD": "swordfish", "PGPASS": "b", "AWS_SECRET_ACCESS_KEY": "c", "STRIPE_KEY": "d"}
    for key, value in (needed | secrets).items():
        monkeypatch.setenv(key, value)
    assert columns(older(shop)[0]) == ["user_id", "amount"]
    make_repository(tmp_path)
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert needed.keys() <= names
    assert not secrets.keys() & names


def test_files_that_a_partial_clone_lacks_are_fetched(shop, tmp_path):
    git(shop, "config", "uploadpack.allowFilter", "true")
    first = git(shop, "rev-parse", "HEAD")
    edited(shop, "user_id")
    commit(shop)
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{shop}", "clone")
    assert columns(older(tmp_path / "clone", first)[0]) == ["user_id", "amount"]


def test_a_shallow_clone_says_how_to_fetch_more(shop, tmp_path):
    first = git(shop, "rev-parse", "HEAD")
    (shop / "models/more.sql").write_text(MODELS["clicks"])
    commit(shop)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{shop}", "clone")
    with pytest.raises(MillstreamError) as error:
        older(tmp_path / "clone", first)
    code, text = described(error)
    assert code == "MS721"
    assert "shallow" in text
    assert f"git fetch --depth=1 origin {first}" in text
    git(tmp_path / "clone", "fetch", "-q", "--depth=1", "origin", first)
    assert "model.more" not in older(tmp_path / "clone", first)[0].manifest.nodes


def test_where_a_branch_left_another_one(shop):
    git(shop, "checkout", "-q", "-b", "mine")
    (shop / "models/mine.sql").write_text(MODELS["clicks"])
    commit(shop)
    git(shop, "checkout", "-q", "main")
    (shop / "models/theirs.sql").write_text(MODELS["clicks"])
    commit(shop)
    git(shop, "checkout", "-q", "mine")
    base, warnings = older(shop)
    assert "model.theirs" in base.manifest.nodes
    assert [warning.code for warning in warnings] == ["MS727"]
    base, warnings = older(shop, merge_base=True)
    assert ("model.theirs" in base.manifest.nodes, warnings) == (False, ())


def test_how_far_another_branch_has_gone(shop):
    where = find_repository(shop)
    assert missing_commits(where, find_commit(where, "main")) == 0


def test_a_project_that_was_not_there_yet(tmp_path):
    (tmp_path / "readme.md").write_text("only this")
    repository(tmp_path)
    written(tmp_path / "shop", MODELS)
    with pytest.raises(MillstreamError) as error:
        older(tmp_path / "shop")
    assert described(error)[0] == "MS722"


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(MillstreamError) as error:
        older(written(tmp_path / "shop", MODELS))
    assert described(error)[0] == "MS720"


def test_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MillstreamError) as error:
        older(written(tmp_path / "shop", MODELS))
    assert described(error)[1].startswith("git is not installed")


def test_a_version_that_does_not_compile_is_known_in_part(shop):
    (shop / "models/broken.sql").write_text("select nothing from {{ ref('clicks') }}")
    commit(shop)
    (shop / "models/broken.sql").unlink()
    base, warnings = older(shop)
    assert (base.topology, base.less) == (None, "it does not compile (1 error)")
    assert [warning.code for warning in warnings] == ["MS726"]
    assert columns(base) == ["user_id", "amount"]


def test_tables_whose_columns_are_unknown_in_the_older_version_are_not_compared(shop):
    model = "{{ config(materialized='table', unique_key='user_id') }} select user_id, %s as late from %s"
    events = "{{ source('shop', 'events') }}"
    (shop / "models/late.sql").write_text(model % ("is_it_late(amount)", events))
    commit(shop)
    (shop / "models/late.sql").write_text(model % ("amount > 5", events))
    report, warnings = compared_with_main(shop)
    assert [warning.code for warning in warnings] == ["MS726"]
    assert report.contracts == ()


def test_files_that_sources_and_functions_read_are_part_of_a_version(tmp_path):
    files = {
        "models/orders.yml": "sources:\n  - name: bank\n    topics:\n"
        "      - {name: orders, format: avro, schema: schemas/orders.avsc}\n",
        "schemas/orders.avsc": record(field("id", "long"), field("total", "double")),
        "scored": "select id, weighted(total) as score from {{ source('bank', 'orders') }}",
        "macros/weights.py": """
from pathlib import Path

from rules.limits import LIMIT


def weighted(total: float) -> float:
    return total * float(Path("ml/weight.txt").read_text()) if total < LIMIT else 1.0
""",
        "rules/__init__.py": "",
        "rules/limits.py": "from .base import BASE\n\nLIMIT = BASE * 2\n",
        "rules/base.py": "BASE = 5\n",
        "src/unused.py": "1\n",
        "ml/weight.txt": "0.5",
        "ml/large.bin": "is not read",
    }
    root = repository(written(tmp_path / "bank", files))
    report, warnings = compared_with_main(root)
    assert (warnings, report.nodes) == ((), ())
    assert not [*(root / "target/cache/.checkouts").rglob("large.bin")]
    for path, text in (("ml/weight.txt", "0.7"), ("rules/base.py", "BASE = 6\n")):
        (root / path).write_text(text)
        report, _ = compared_with_main(root)
        assert [node.id for node in report.nodes] == ["function.weighted", "model.scored"]
        (root / path).write_text(files[path])


def test_links_within_a_repository_are_followed_and_others_left_out(tmp_path):
    root = written(tmp_path / "shop", MODELS)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/linked.sql").write_text(MODELS["clicks"])
    (root / "models/linked.sql").symlink_to("../../shared/linked.sql")
    (root / "models/outside.sql").symlink_to("/etc/hostname")
    (root / "models/folder").symlink_to("../../shared")
    (tmp_path / "shared/deep.sql").write_text(MODELS["clicks"])
    (tmp_path / "shared/linked.sql").rename(tmp_path / "shared/one.sql")
    (root / "models/linked.sql").unlink()
    (root / "models/linked.sql").symlink_to("../../shared/one.sql")
    repository(tmp_path)
    base, warnings = older(root)
    assert {"model.linked", "model.deep", "model.one"} <= base.manifest.nodes.keys()
    assert "model.outside" not in base.manifest.nodes
    assert [warning.code for warning in warnings] == ["MS724"]
    assert older(root)[1] == warnings


def test_a_submodule_is_left_out(shop, tmp_path):
    other = repository(written(tmp_path / "other", MODELS))
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "models/other")
    commit(shop)
    base, warnings = older(shop)
    assert [warning.code for warning in warnings] == ["MS724"]
    assert "models/other" in warnings[0].message
    assert columns(base) == ["user_id", "amount"]


def test_names_with_blanks_and_letters_of_other_languages(shop):
    (shop / "models/eine größe").mkdir()
    (shop / "models/eine größe/more.sql").write_text(MODELS["clicks"])
    commit(shop)
    assert older(shop)[0].manifest.nodes["model.more"].path == "models/eine größe/more.sql"


def test_profiles_that_are_kept_out_of_git_are_those_of_now(shop):
    git(shop, "rm", "-q", "--cached", "profiles.yml")
    git(shop, "commit", "-q", "-m", "no profiles")
    (shop / "profiles.yml").write_text("shop: {target: far, outputs: {far: {timezone: Europe/Berlin}}}\n")
    assert older(shop)[0].manifest.target == "far"


def test_the_second_time_nothing_is_compiled(shop):
    compile_project(shop)
    first, _ = older(shop)
    files = sorted(path.name for path in (shop / "target/cache/.checkouts").iterdir())
    second, _ = older(shop)
    assert sorted(path.name for path in (shop / "target/cache/.checkouts").iterdir()) == files
    assert (first.compiled.catalog, second.compiled.from_cache) == (second.compiled.catalog, 1)


def test_old_versions_are_forgotten(shop):
    for number in range(5):
        (shop / "models/clicks.sql").write_text(
            f"select {number} as n from {{{{ source('shop', 'events') }}}}"
        )
        commit(shop)
        older(shop, "HEAD")
    assert len(list((shop / "target/cache/.checkouts").iterdir())) <= 3


def edited(root, column):
    (root / "models/clicks.sql").write_text(f"select {column} from {{{{ source('shop', 'events') }}}}")


@pytest.mark.parametrize("main", ["main", "master"])
def test_without_a_name_it_is_where_the_branch_left_the_main_branch(shop, main):
    git(shop, "branch", "-m", main)
    git(shop, "checkout", "-b", "work")
    edited(shop, "user_id")
    commit(shop)
    git(shop, "checkout", main)
    edited(shop, "amount")
    commit(shop)
    git(shop, "checkout", "work")
    base, warnings = older(shop, None)
    assert (base.name, columns(base), warnings) == (main, ["user_id", "amount"], ())


def test_without_a_name_the_default_branch_of_the_remote_comes_first(shop, tmp_path):
    git(shop, "checkout", "-b", "trunk")
    edited(shop, "user_id")
    commit(shop)
    git(tmp_path, "clone", "--quiet", str(shop), "clone")  # its origin/HEAD is trunk
    clone = tmp_path / "clone"
    git(clone, "branch", "main", "origin/main")
    base, _ = older(clone, None)
    assert (base.name, columns(base)) == ("origin/trunk", ["user_id"])


def test_without_a_name_and_a_main_branch(shop):
    git(shop, "branch", "-m", "trunk")
    with pytest.raises(MillstreamError) as error:
        older(shop, None)
    assert described(error) == (
        "MS721",
        "there is no origin/HEAD, main or master to compare with: name a branch, tag or commit: --against REF",
    )
