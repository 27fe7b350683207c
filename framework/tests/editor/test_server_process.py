"""The process of the language server, as an editor starts and ends it."""

import json
import subprocess
import sys


def message(method, number=None, **parameters):
    content = {"jsonrpc": "2.0", "method": method, "params": parameters}
    text = json.dumps(content if number is None else {**content, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


def test_it_ends_when_the_editor_says_so(tmp_path):
    sent = [
        message("initialize", 1, processId=None, rootUri=tmp_path.as_uri(), capabilities={}),
        message("initialized"),
        message("shutdown", 2),
        message("exit"),
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "millstream", "lsp"],
        cwd=tmp_path, input=b"".join(sent), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.count(b"Content-Length") == 2
