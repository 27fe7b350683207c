"""A long list of values costs time in proportion to its length."""

import time
from pathlib import Path

from millstream.compile import compile_project


def seconds(root: Path, values: int) -> float:
    literals = ", ".join(f"'{value}'" for value in range(values))
    (root / "models/a.sql").write_text(
        f"select k.kind from {{{{ ref('kinds') }}}} as k where k.kind in ({literals})"
    )
    began = time.thread_time()
    assert compile_project(root, use_cache=False).diagnostics == ()
    return time.thread_time() - began


def test_a_wide_seed(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.millstream]\nname = "p"\n')

    def seconds_of(columns: int) -> float:
        names, values = ",".join(f"c{index}" for index in range(columns)), ",".join("1" * columns)
        (tmp_path / "seeds/wide.csv").write_text(f"{names}\n{values}\n")
        began = time.thread_time()
        assert compile_project(tmp_path, use_cache=False).diagnostics == ()
        return time.thread_time() - began

    seconds_of(10)
    # Where the header is read again for each column, the time is sixteen times as long.
    assert seconds_of(8000) < 8 * seconds_of(2000) + 0.5


def test_a_long_list_of_values(tmp_path: Path) -> None:
    for path in ("models", "seeds"):
        (tmp_path / path).mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.millstream]\nname = "p"\n')
    (tmp_path / "seeds/kinds.csv").write_text("kind\na\n")
    seconds(tmp_path, 10)
    # Where each value is compared with all before it, the time is sixteen times as long.
    assert seconds(tmp_path, 60_000) < 8 * seconds(tmp_path, 15_000) + 0.5
