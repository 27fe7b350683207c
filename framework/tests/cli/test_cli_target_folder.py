"""Commands write and remove files only in a target folder that Millstream created."""

import pytest


@pytest.fixture
def victim(shop):
    folder = shop.parent / "victim"
    (folder / "compiled").mkdir(parents=True)
    (folder / "compiled/precious.sql").write_text("select 1")
    return folder


def named(shop, path):
    (shop / "pyproject.toml").write_text(f'[tool.millstream]\nname = "shop"\ntarget-path = "{path}"\n')


@pytest.mark.parametrize("command", ["compile", "ls", "docs generate"])
def test_a_folder_of_other_files_is_left_alone(run, shop, victim, command):
    named(shop, "../victim")
    result = run(*command.split())
    assert result.code == 2
    assert "error[MS710]: ../victim/ has files that Millstream did not write, such as compiled" in result.err
    assert [path.name for path in victim.rglob("*")] == ["compiled", "precious.sql"]


def test_a_folder_of_other_files_in_the_project_is_left_alone(run, shop):
    (shop / "docs").mkdir()
    (shop / "docs/manifest.json").write_text('{"written": "by hand"}')
    named(shop, "docs")
    assert "error[MS710]" in run("compile").err
    assert "error[MS707]" in run("clean", "--yes").err
    assert (shop / "docs/manifest.json").read_text() == '{"written": "by hand"}'


def test_a_link_to_other_files_is_left_alone(run, shop, victim):
    assert run("compile").code == 0
    (shop / "target/compiled").rename(shop / "elsewhere")
    (shop / "target/compiled").symlink_to(victim / "compiled")
    result = run("compile")
    assert (result.code, "error[MS710]" in result.err) == (2, True)
    assert [path.name for path in victim.rglob("*")] == ["compiled", "precious.sql"]


@pytest.mark.parametrize("path", ["target", "../results", "build/results"])
def test_a_new_folder_is_marked_and_used_again(run, shop, path):
    named(shop, path)
    assert [run("compile").code for _ in range(2)] == [0, 0]
    assert (shop / path / ".millstream-target").is_file()
    assert (shop / path / "manifest.json").is_file()


def test_a_folder_of_an_older_version_is_used(run, shop):
    assert run("compile").code == 0
    (shop / "target/.millstream-target").unlink()
    assert run("compile").code == 0
    assert (shop / "target/.millstream-target").is_file()


def test_an_empty_folder_may_have_files_for_git(run, shop):
    (shop / "target").mkdir()
    (shop / "target/.gitignore").write_text("*")
    assert run("compile").code == 0
