"""Which names in the folder of an environment's tables are tables."""

from millstream.stores.files import LocalFiles
from millstream.stores.folders import tables_in


def test_the_folders_of_stores_are_not_tables(tmp_path):
    for folder in ("totals", "raw", "raw.deletions", "_sources/shop.products", "_millstream/raw"):
        (tmp_path / folder).mkdir(parents=True)
    assert tables_in(LocalFiles(), str(tmp_path)) == ["raw", "raw.deletions", "shop.products", "totals"]
    assert tables_in(LocalFiles(), str(tmp_path / "none")) == []
