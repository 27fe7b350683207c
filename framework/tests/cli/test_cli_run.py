"""`millstream run`, as far as it needs no Spark."""

import os
import subprocess

from support.commands import MILLSTREAM
from support.receiving import receiving


def test_a_run_that_can_not_start_is_notified(shop):
    (shop / "profiles.yml").write_text(
        "shop: {outputs: {local: {notifications: [{webhook: \"{{ env_var('HOOK') }}\", on: [ended]}]}}}\n"
    )
    with receiving() as receiver:
        taken = receiver.url.split(":")[2].split("/")[0]
        done = subprocess.run(
            [*MILLSTREAM, "run", "--port", taken],
            cwd=shop,
            env=os.environ | {"HOOK": receiver.url},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "MS881" in done.stderr
        message = receiver.next()["text"]
    assert message.startswith(f"shop (local): the run ended: MS881: can't listen on 127.0.0.1:{taken}: ")
    assert "hidden" not in done.stdout + done.stderr
