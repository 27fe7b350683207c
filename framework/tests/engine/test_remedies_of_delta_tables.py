"""What to do when another program changes a Delta table that is a source, or removes what a query needs."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.delta_tables import ALL, LAKE, append, declare, failure, folder, good_build, stored_ids
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh

pytestmark = SPARK_WARNINGS


@pytest.fixture
def lake(shop):
    declare(shop)
    shop.model("all_orders", ALL)
    return shop


def test_versions_that_change_rows(lake, first_spark):
    append(lake, (1, "ann", 2.5), (2, "bob", 4.0))
    good_build(lake, first_spark)
    append(lake, (3, "ann", 1.0))
    DeltaTable(folder(lake)).delete("id = 1")
    append(lake, (4, "ann", 1.0))
    diagnostic = failure(lake, first_spark)
    assert diagnostic.code == "MS645"
    assert "all_orders: version 2 of the table deletes or changes rows (DELETE)" in diagnostic.message
    assert (diagnostic.location.path, diagnostic.location.line) == ("models/lake.yml", 4)
    declare(lake, "skip_changes: true")
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1, 2, 3, 4]
    # A rebuild starts over with the rows that the table has.
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [2, 3, 4]


@pytest.mark.long
def test_a_start_that_the_table_does_not_have(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    declare(lake, "start: 9")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "the table has versions 0 to 0" in diagnostic.message) == ("MS645", True)
    declare(lake, "start: '2999-01-01 00:00:00'")
    diagnostic = failure(lake, first_spark, intent=FullRefresh())
    assert (diagnostic.code, "it starts at 2999-01-01 00:00:00" in diagnostic.message) == ("MS645", True)
    declare(lake, "start: 0")
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [1]


@pytest.mark.long
def test_files_and_versions_that_are_gone(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    good_build(lake, first_spark)
    append(lake, (2, "bob", 4.0))
    table = DeltaTable(folder(lake))
    (newest,) = [
        uri for uri in table.file_uris() if uri not in DeltaTable(folder(lake), version=0).file_uris()
    ]
    (lake.root / "kept").write_bytes(open(newest, "rb").read())  # noqa: PTH123, SIM115 - a URI without a scheme
    file = lake.root / "lake/orders" / newest.rpartition("/")[2]
    file.unlink()
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.location.path) == ("MS859", "models/lake.yml")
    (lake.root / "kept").rename(file)
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1, 2]
    append(lake, (3, "ann", 1.0))
    append(lake, (4, "ann", 1.0))
    DeltaTable(folder(lake)).create_checkpoint()
    for version in range(3):
        (lake.root / f"lake/orders/_delta_log/{version:020}.json").unlink()
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "log starts at version 3" in diagnostic.message) == ("MS645", True), diagnostic
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [1, 2, 3, 4]


@pytest.mark.long
def test_a_table_that_was_recreated(lake, first_spark):
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "does not exist" in diagnostic.message) == ("MS645", True)
    append(lake, (1, "ann", 2.5))
    good_build(lake, first_spark)
    (lake.root / "lake/orders").rename(lake.root / "lake/old")
    append(lake, (2, "bob", 4.0))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "was recreated" in diagnostic.message) == ("MS645", True)
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [2]


@pytest.mark.long
def test_columns_that_were_added_or_changed(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    good_build(lake, first_spark)
    more = pa.table({"id": pa.array([2], pa.int64()), "customer": ["bob"], "amount": [4.0], "note": ["x"]})
    write_deltalake(folder(lake), more, mode="append", schema_mode="merge")
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1, 2]
    changed = pa.table({"id": pa.array([2], pa.int64()), "amount": ["4"]})
    write_deltalake(folder(lake), changed, mode="overwrite", schema_mode="overwrite")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.location.line) == ("MS645", 8)
    assert "has no column 'customer'" in diagnostic.message
    lake.write("models/lake.yml", LAKE.replace("          - {name: customer, type: string}\n", ""))
    lake.model("all_orders", ALL.replace("customer, ", ""))
    diagnostic = failure(lake, first_spark, intent=FullRefresh())
    assert (diagnostic.code, diagnostic.help) == ("MS645", "declare it with type: string")
    lake.write("models/lake.yml", LAKE.replace("type: double", "type: string, nullable: false"))
    lake.write("models/lake.yml", (lake.root / "models/lake.yml").read_text().replace(
        "          - {name: customer, type: string}\n", ""
    ))  # fmt: skip
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [2]
    none = pa.table({"id": pa.array([3], pa.int64()), "amount": pa.array([None], pa.string())})
    write_deltalake(folder(lake), none, mode="append")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "column amount: a value is missing" in diagnostic.message) == ("MS645", True)


def test_a_table_with_a_key_needs_a_change_feed(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    declare(lake, "key: id")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.location.path) == ("MS645", "models/lake.yml")
    assert "no change feed" in diagnostic.message
    DeltaTable(folder(lake)).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    append(lake, (2, "bob", 1.0))
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1, 2]
