import shutil

import pytest
from example.generated import ROOT

PARTS = ("pyproject.toml", "profiles.yml", "models", "macros", "seeds", "tests")


@pytest.fixture
def example(tmp_path, broker):
    """Return a copy of the example without any records, and its broker's address."""
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)
    return tmp_path, broker
