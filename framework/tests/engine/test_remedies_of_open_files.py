"""A process that has as many open files as it may have says so, and how to let it have more."""

import json
import subprocess

import pytest
from support.commands import MILLSTREAM
from support.runs import table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS


@pytest.mark.long
def test_too_many_open_files_are_one_error_with_a_remedy(shop):
    shop.model("totals", TOTALS)
    shop.send(*(event(n, f"u{n}", 1.0) for n in range(200)))
    profiles = shop.root / "profiles.yml"
    profiles.write_text(
        profiles.read_text().replace("spark.sql.shuffle.partitions: 1", 'spark.sql.shuffle.partitions: "300"')
    )
    command = [*MILLSTREAM, "build", "--output", "json"]
    limited = ["bash", "-c", 'ulimit -n 1000; exec "$0" "$@"', *command]
    done = subprocess.run(limited, cwd=shop.root, capture_output=True, text=True, check=False)
    errors = [
        diagnostic
        for diagnostic in json.loads(done.stdout)["diagnostics"]
        if diagnostic["severity"] == "error"
    ]
    assert [diagnostic["code"] for diagnostic in errors] == ["MS800"]
    assert "ulimit -n" in errors[0]["help"]
    subprocess.run(command, cwd=shop.root, capture_output=True, check=True)
    assert len(table_rows(shop.root, "model.totals")) == 200
