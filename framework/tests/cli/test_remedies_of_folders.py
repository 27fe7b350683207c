"""A current folder that is gone: the two ways that the remedy names."""

from cli.test_cli_machine import PROGRAM, bash


def test_a_current_folder_that_is_gone(shop):
    gone = shop / "gone"
    enter = f"mkdir {gone} && cd {gone} && rmdir ../gone"
    result = bash(f"{enter} && {PROGRAM} ls")
    assert result.returncode == 2
    assert "MS706" in result.stderr
    assert "the current folder no longer exists" in result.stderr
    assert "change to an existing folder, or name the project's folder with --project-dir" in result.stderr
    assert bash(f"{enter} && cd {shop} && {PROGRAM} ls").returncode == 0
    assert bash(f"{enter} && {PROGRAM} ls --project-dir {shop}").returncode == 0
