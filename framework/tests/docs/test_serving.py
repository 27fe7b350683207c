"""The server of a site answers every request, and prints nothing."""

import http.client
import threading

import pytest

from millstream.docs.serving import serve_folder


@pytest.mark.parametrize("path", ["/%00", "/a%00.js", "/%ff", "/..%2f..%2fetc/passwd"])
def test_strange_paths_are_not_found(tmp_path, path, capfd):
    (tmp_path / "index.html").write_text("the page")
    with serve_folder(tmp_path, 0) as (address, server):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = http.client.HTTPConnection(address.split("/")[2], timeout=5)
        connection.request("GET", path)
        assert connection.getresponse().status == 404
        server.shutdown()
    assert capfd.readouterr() == ("", "")
