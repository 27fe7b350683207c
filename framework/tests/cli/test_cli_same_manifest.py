"""A project has one manifest, whatever the order in which Python gives the values of a set."""

import os
import subprocess

from support.commands import MILLSTREAM

LAMBDAS = (
    "select transform(array(amount), (amount_, index) -> amount_ + index) as sums, "
    "filter(array(kind), entry -> entry <> 'x') as kinds from {{ source('web', 'clicks') }}"
)


def test_the_manifest_does_not_depend_on_hashes(shop):
    (shop / "models/lambdas.sql").write_text(LAMBDAS)
    manifests = set()
    for seed in ("1", "2", "3", "4"):
        command = [*MILLSTREAM, "compile", "--no-cache"]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=shop, env=environment, check=True, capture_output=True)
        manifests.add((shop / "target/manifest.json").read_bytes())
    assert len(manifests) == 1
