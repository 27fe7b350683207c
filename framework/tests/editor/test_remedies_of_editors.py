"""Remedies of the language server's own errors, tried: without its package, and of renames that are refused."""

import subprocess
import sys
from importlib import metadata

import pytest
from pygls.exceptions import JsonRpcException
from support.language_client import Editor

WITHOUT = "import sys; sys.modules['pygls'] = None; from millstream.__main__ import main; main()"


def test_without_its_package_the_remedy_is_the_extra_that_has_it(tmp_path):
    command = [sys.executable, "-c", WITHOUT, "lsp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "MS714" in done.stderr
    assert "install it: pip install 'millstream[editor]'" in done.stderr
    (needed,) = [text for text in metadata.requires("millstream") if "extra == 'editor'" in text]
    assert needed.startswith("pygls")
    Editor(tmp_path).stop()  # with it, the server starts, also where there is no project


def test_it_ends_when_the_editor_is_gone(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "millstream", "lsp"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stdout.read() == b""
    process.stdout.close()


def test_with_another_name_a_refused_rename_succeeds(shop):
    path = "models/totals.sql"
    shop.open(path)
    with pytest.raises(JsonRpcException, match="or use another name") as refused:
        shop.rename(path, "total", "user_id")
    assert refused.value.message.partition(":")[0] == "MS715"
    shop.apply(shop.rename(path, "total", "total_2"))
    shop.wait_for({})
