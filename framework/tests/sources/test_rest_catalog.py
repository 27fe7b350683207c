"""Tables of a REST catalog as sources, on the server that Iceberg tests clients with."""

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from support.rest_catalog import rest_catalog

from millstream.sources.iceberg.snapshots import (
    TableAddress,
    TableProblemError,
    added_files,
    changed_files,
    everything,
    load_table,
    newest,
)

ORDERS = pa.schema([("id", pa.int64())])

pytestmark = pytest.mark.long


@pytest.fixture
def orders(tmp_path):
    """A table of the catalog, as another program writes it, and its address."""
    folder = tmp_path / "warehouse"
    folder.mkdir()
    with rest_catalog(folder) as uri:
        properties = {"type": "rest", "uri": uri}
        catalog = load_catalog("lake", **properties)
        catalog.create_namespace("shop")
        table = catalog.create_table("shop.orders", ORDERS)
        yield table, TableAddress("lake.orders", "", "lake", properties, "shop.orders")


def counts(files):
    return sorted(file.file.record_count for file in files)


def test_snapshots_of_a_table_in_a_rest_catalog(orders):
    writer, address = orders
    writer.append(pa.table({"id": [1, 2]}))
    first = newest(load_table(address))
    writer.append(pa.table({"id": [3]}))
    table = load_table(address)
    second = newest(table)
    assert counts(added_files(table, first, second, skip_changes=False)) == [1]
    assert counts(added_files(table, everything(table), second, skip_changes=False)) == [1, 2]
    writer.delete("id = 1")
    table = load_table(address)
    was, now = changed_files(table, second, newest(table))
    assert (counts(was), counts(now)) == ([2], [1])
    with pytest.raises(TableProblemError, match="deletes or changes rows"):
        added_files(table, second, newest(table), skip_changes=False)


def test_what_a_catalog_does_not_have_and_one_that_does_not_answer(orders):
    _, address = orders
    with pytest.raises(TableProblemError, match=r"does not exist: shop\.none of catalog 'lake'"):
        load_table(address._replace(name="shop.none"))
    unreachable = {"type": "rest", "uri": "http://127.0.0.1:1"}
    with pytest.raises(TableProblemError, match=r"can't be read: shop\.orders of catalog 'lake'"):
        load_table(address._replace(properties=unreachable))
