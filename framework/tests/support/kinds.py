"""A kind of source that an installed package adds: the rows of a folder's Parquet files."""

import sys
from pathlib import Path

import pytest

from millstream.sources.registry import installed_kinds, source_declaration

LAKE = """
sources:
  - name: lake
    parquet_folders:
      - name: orders
        path: lake/orders
        description: Orders of the shop.
        columns:
          - {name: id, type: bigint}
          - {name: customer, type: string}
          - {name: amount, type: double}
          - {name: doubled, from: amount * 2}
"""


@pytest.fixture
def parquet_folders(monkeypatch):
    """Let Millstream find the package, as if it was installed."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "source_kinds"))
    installed_kinds.cache_clear()
    yield
    installed_kinds.cache_clear()
    source_declaration.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "parquet_folder"]:
        del sys.modules[name]
