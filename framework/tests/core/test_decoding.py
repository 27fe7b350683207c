"""A type is first decoded by several threads at once, in a process of its own: msgspec alone crashes there."""

import subprocess
import sys

import pytest

CODE = """
import sys, threading
import msgspec
from millstream.core.decoding import from_json, from_msgpack
from millstream.plan.from_sql.catalog import Catalog

sys.setswitchinterval(1e-6)
encoding, decode = (msgspec.json, from_json) if sys.argv[1] == "json" else (msgspec.msgpack, from_msgpack)
data = encoding.encode(Catalog({}, {}, {}))
start, found = threading.Barrier(16), []

def run():
    start.wait()
    found.append(decode(data, Catalog))

threads = [threading.Thread(target=run) for _ in range(16)]
[each.start() for each in threads]
[each.join() for each in threads]
assert found == [Catalog({}, {}, {})] * 16
"""


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_threads_decode_a_new_type_at_once(encoding):
    for _ in range(3):
        result = subprocess.run(
            [sys.executable, "-c", CODE, encoding], capture_output=True, text=True, check=False
        )
        assert (result.returncode, result.stderr) == (0, "")
