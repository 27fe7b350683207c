"""Reviews that can't be made: each error has a code and a remedy, and shows no secrets."""

import shutil
from pathlib import Path

import pytest
from support.reviews import commit, git, repository

from millstream.review.edited_lines import hide_secrets
from millstream.review.wording import options_sentences

CONFIG = "{{ config(materialized='table', unique_key='user_id', tags=['money']) }}\n"
TOTALS = CONFIG + "select user_id, sum(amount) as total from {{ ref('stg_clicks') }} group by user_id\n"
OUTPUTS = ("text", "json", "markdown")


@pytest.fixture
def shop(shop: Path) -> Path:
    return repository(shop)


def refused(result, code, *words):
    """Check that an error has its code, and all of these words."""
    text = " ".join(result.err.split())
    assert (result.code, code in text, "Traceback" in text) == (2, True, False), result.err
    for word in words:
        assert word in text, text


def reviewed(run, *options):
    result = run("review", "--against", "main", *options)
    assert result.code == 0, result.err
    return result


def all_output(run):
    """Return all that any output says."""
    results = [run("review", "--against", "main", "--output", output) for output in OUTPUTS]
    assert {result.code for result in results} <= {0, 2}
    return "".join(result.out + result.err for result in results)


# -- references


def test_a_reference_that_git_does_not_know(shop, run):
    refused(
        run("review", "--against", "mian"), "MS721", "no branch, tag or commit 'mian'", "did you mean 'main'?"
    )


@pytest.mark.parametrize(
    "name", ["", "HEAD~5", "main..other", "refs/heads/", "@{u}", "main:pyproject.toml", "a b"]
)
def test_a_reference_that_is_none(shop, run, name):
    result = run("review", "--against", name)
    assert (result.code, "Traceback" in result.err) == (2, False)
    assert "MS721" in result.err or "MS701" in result.err


def test_a_reference_whose_objects_are_broken(shop, run):
    blob = git(shop, "rev-parse", "main:models/totals.sql")
    (shop / ".git/objects" / blob[:2] / blob[2:]).unlink()
    refused(run("review", "--against", "main"), "MS723", "the clone lacks files of that version")


def test_a_repository_without_a_commit(shop, run):
    shutil.rmtree(shop / ".git")
    git(shop, "init", "-q", ".")
    refused(run("review", "--against", "HEAD"), "MS721", "'HEAD'")


def test_a_folder_git_that_is_no_repository(shop, run, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(shop.parent))
    shutil.rmtree(shop / ".git")
    (shop / ".git").write_text("gitdir: nowhere\n")
    refused(run("review", "--against", "main"), "MS720", "--against-manifest")


def test_a_shallow_clone_at_the_shell(shop, run, monkeypatch):
    first = git(shop, "rev-parse", "HEAD")
    (shop / "models/totals.sql").write_text(TOTALS.replace("sum(", "max("))
    commit(shop)
    clone = shop.parent / "clone"
    git(shop, "clone", "-q", "--depth=1", f"file://{shop}", str(clone))
    monkeypatch.chdir(clone)
    refused(
        run("review", "--against", first), "MS721", "shallow clone", f"git fetch --depth=1 origin {first}"
    )
    refused(run("review", "--against", "other", "--merge-base"), "MS721", "shallow")


def test_a_manifest_that_is_a_folder(shop, run):
    result = run("review", "--against-manifest", "models")
    assert (result.code, "Traceback" in result.err) == (2, False)


# -- an older version that can't be compiled


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("models/totals.sql", "select {% if %} from nothing"),
        ("models/totals.sql", "select from where"),
        ("models/staging/sources.yml", "sources: [\n"),
        ("macros/broken.py", "def ("),
        ("macros/broken.sql", "{% macro a( %}"),
        ("seeds/broken.csv", '"a,b\n1'),
    ],
)
def test_an_older_version_that_does_not_compile(shop, run, path, text):
    before = (shop / path).read_text() if (shop / path).exists() else None
    (shop / path).parent.mkdir(parents=True, exist_ok=True)
    (shop / path).write_text(text)
    commit(shop)
    if before is None:
        (shop / path).unlink()
    else:
        (shop / path).write_text(before)
    result = run("review", "--against", "main")
    assert "Traceback" not in result.err + result.out
    if result.code:
        refused(result, "MS722", "compare with a later version")
    else:
        assert "MS726" in result.err
        assert "main: it does not compile" in result.out


def test_an_older_version_whose_settings_are_broken(shop, run):
    before = (shop / "pyproject.toml").read_text()
    (shop / "pyproject.toml").write_text(before + "\n[tool.millstream\n")
    commit(shop)
    (shop / "pyproject.toml").write_text(before)
    refused(run("review", "--against", "main"), "MS722", "compare with a version that has it")


# -- files that move


def test_a_file_that_moves_is_no_change(shop, run):
    (shop / "models/money").mkdir()
    (shop / "models/totals.sql").rename(shop / "models/money/totals.sql")
    assert reviewed(run).out.startswith("No effect on what runs\n")


def test_a_file_that_is_renamed_is_a_model_that_is_renamed(shop, run):
    (shop / "models/totals.sql").rename(shop / "models/sums.sql")
    (shop / "models/totals.yml").write_text(
        (shop / "models/totals.yml").read_text().replace("totals", "sums")
    )
    output = reviewed(run).out
    assert "1 model renamed" in output
    assert "was called totals" in output


def test_a_file_of_another_letter_case_is_no_loss(shop, run):
    (shop / "models/totals.sql").rename(shop / "models/TOTALS.sql")
    result = run("review", "--against", "main")
    assert result.code in {0, 2}
    assert "Traceback" not in result.err


# -- repositories within repositories


def test_a_submodule_is_named(shop, run):
    other = repository(shop.parent / "other") if (shop.parent / "other").mkdir() is None else None
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "models/other")
    commit(shop)
    result = reviewed(run)
    assert "MS724" in result.err
    assert "the submodule models/other is skipped" in result.err


def test_a_repository_inside_a_repository(shop, run):
    (shop.parent / "file").write_text("outside")
    repository(shop.parent)
    (shop / "models/totals.sql").write_text(TOTALS.replace("sum(", "max("))
    assert "aggregate is `max(amount)`" in reviewed(run).out


# -- secrets


def test_a_password_in_a_profile_that_changes(shop, run):
    profile = (
        "shop: {target: far, outputs: {far: {kafka: {bootstrap_servers: 'a:9092', sasl_password: %s}, "
        "tables: {store: postgres, url: 'postgresql://me:%s@host/shop'}}}}\n"
    )
    (shop / "profiles.yml").write_text(profile % ("hunter2", "swordfish"))
    commit(shop)
    (shop / "profiles.yml").write_text(profile % ("hunter3", "sardine"))
    output = all_output(run)
    assert not [word for word in ("hunter2", "hunter3", "swordfish", "sardine") if word in output]


def test_a_token_on_an_edited_line(shop, run):
    sql = TOTALS.replace("tags=['money']", "emit='%s', meta={'api_token': '%s'}")
    (shop / "models/totals.sql").write_text(sql % ("on_change", "hunter2"))
    commit(shop)
    (shop / "models/totals.sql").write_text(sql.replace("sum(", "max(") % ("on_change", "hunter3"))
    output = all_output(run)
    assert "models/totals.sql:1" in output
    assert not [word for word in ("hunter2", "hunter3") if word in output]


def test_an_option_with_the_name_of_a_secret():
    before, after = (
        {"kafka": {"sasl_password": "hunter2", "acks": "all"}},
        {"kafka": {"sasl_password": "hunter3", "acks": "1"}},
    )
    assert options_sentences(before, after) == [
        "kafka.acks is `1`, was `all`",
        "kafka.sasl_password changed; its value is not shown",
    ]


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("select user_id, token_count as n", "select user_id, token_count as n"),
        ("  sasl_password: hunter2", "  sasl_password: ****"),
        ("url: postgresql://me:hunter2@host/shop", "url: ****"),
        ("a = 1, 'api_token': 'hunter2', b = 2", "a = 1, 'api_token: ****"),
        ("where password = upper(name)", "where password: ****"),
    ],
)
def test_a_line_without_what_is_secret(line, seen):
    assert hide_secrets(line) == seen


def test_a_token_of_the_environment_within_sql(shop, run, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "hunter2")
    where = "where user_id <> '{{ env_var(\"SHOP_TOKEN\") }}' group"
    (shop / "models/totals.sql").write_text(TOTALS.replace("group", where))
    output = all_output(run)
    assert "hunter2" not in output
