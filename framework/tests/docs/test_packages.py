"""docs/design.md lists the packages of Millstream, in the order of the import contract."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]


def listed_packages():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    return re.findall(r"^(\w+)/ ", text.split("```")[1], re.MULTILINE)


def test_each_package_is_listed_and_nothing_else():
    package = ROOT / "framework" / "millstream"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert set(listed_packages()) == folders
    assert {path.name for path in package.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_they_are_listed_in_the_order_of_imports():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    assert listed_packages() == contract["layers"][::-1]
