"""What to do when another program changes an Iceberg table that is a source, or removes what a query needs."""

from pathlib import Path

import pytest
from pyiceberg.types import IntegerType, LongType
from support.delta_tables import ALL, failure, good_build, stored_ids
from support.iceberg_tables import COLUMNS, LAKE, append, catalog_of, create, declare, loaded, rows_of
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh

pytestmark = SPARK_WARNINGS


@pytest.fixture
def lake(shop):
    declare(shop)
    create(shop)
    shop.model("all_orders", ALL)
    return shop


@pytest.mark.long
def test_snapshots_that_change_rows(lake, first_spark):
    append(lake, (1, "ann", 2.5), (2, "bob", 4.0))
    good_build(lake, first_spark)
    append(lake, (3, "ann", 1.0))
    loaded(lake).delete("id = 1")
    append(lake, (4, "ann", 1.0))
    diagnostic = failure(lake, first_spark)
    assert diagnostic.code == "MS645"
    assert "of the table deletes or changes rows (overwrite)" in diagnostic.message
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
    assert (diagnostic.code, "it starts at snapshot 9" in diagnostic.message) == ("MS645", True), diagnostic
    declare(lake, "start: '2999-01-01 00:00:00'")
    diagnostic = failure(lake, first_spark, intent=FullRefresh())
    assert (diagnostic.code, "it starts at 2999-01-01 00:00:00" in diagnostic.message) == ("MS645", True)
    declare(lake, f"start: {loaded(lake).current_snapshot().snapshot_id}")
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [1]


@pytest.mark.long
def test_files_and_snapshots_that_are_gone(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    good_build(lake, first_spark)
    append(lake, (2, "bob", 4.0))
    (newest,) = [
        Path(task.file.file_path.removeprefix("file://"))
        for task in loaded(lake).scan(row_filter="id = 2").plan_files()
    ]
    newest.rename(lake.root / "kept")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.location.path) == ("MS859", "models/lake.yml"), diagnostic
    assert newest.name in diagnostic.message
    (lake.root / "kept").rename(newest)
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1, 2]
    append(lake, (3, "ann", 1.0))
    append(lake, (4, "ann", 1.0))
    table = loaded(lake)
    with table.maintenance.expire_snapshots() as expiring:
        for snapshot in table.snapshots()[:-1]:
            expiring.by_id(snapshot.snapshot_id)
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "no longer has all snapshots since" in diagnostic.message) == ("MS645", True)
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [1, 2, 3, 4]


@pytest.mark.long
def test_a_table_that_was_recreated_or_rolled_back(lake, first_spark):
    catalog_of(lake).drop_table("shop.orders")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "does not exist" in diagnostic.message) == ("MS645", True), diagnostic
    create(lake)
    append(lake, (1, "ann", 2.5))
    append(lake, (2, "ann", 2.5))
    good_build(lake, first_spark)
    first, _ = loaded(lake).snapshots()
    with loaded(lake).manage_snapshots() as manage:
        manage.rollback_to_snapshot(first.snapshot_id)
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "was rolled back" in diagnostic.message) == ("MS645", True), diagnostic
    append(lake, (3, "ann", 2.5))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "was replaced or rolled back" in diagnostic.message) == ("MS645", True), (
        diagnostic
    )
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [1, 3]
    catalog_of(lake).drop_table("shop.orders")
    create(lake)
    append(lake, (4, "bob", 4.0))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "was recreated" in diagnostic.message) == ("MS645", True), diagnostic
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [4]


@pytest.mark.long
def test_columns_that_were_added_or_changed(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    good_build(lake, first_spark)
    with loaded(lake).update_schema() as update:
        update.add_column("stock", IntegerType())
    append(lake, (2, "bob", 4.0))
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1, 2]
    with loaded(lake).update_schema() as update:
        update.rename_column("customer", "buyer")
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.location.line) == ("MS645", 9), diagnostic
    assert "has no column 'customer'" in diagnostic.message
    changed = (
        (lake.root / "models/lake.yml").read_text().replace("customer, type: string", "stock, type: bigint")
    )
    lake.write("models/lake.yml", changed)
    lake.model("all_orders", ALL.replace("customer, ", ""))
    diagnostic = failure(lake, first_spark, intent=FullRefresh())
    assert (diagnostic.code, diagnostic.help) == ("MS645", "declare it with type: int")
    with loaded(lake).update_schema() as update:
        update.update_column("stock", LongType())
    required = changed.replace("amount, type: double", "amount, type: double, nullable: false")
    lake.write("models/lake.yml", required)
    good_build(lake, first_spark, intent=FullRefresh())
    assert stored_ids(lake) == [1, 2]
    columns = loaded(lake).schema().as_arrow()
    loaded(lake).append(rows_of(columns, (3, "ann", None, 1)))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "column amount: a value is missing" in diagnostic.message) == ("MS645", True)


@pytest.mark.long
def test_tables_that_cannot_be_read(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    lake.write("models/lake.yml", LAKE.replace("catalog: lake", "catalog: laek"))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.help) == ("MS645", "did you mean 'lake'?"), diagnostic
    of_folder = "path: lake/shop/orders"
    lake.write("models/lake.yml", LAKE.replace("catalog: lake\n        table: shop.orders", of_folder))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "version-hint.text is missing" in diagnostic.message) == ("MS645", True)
    declare(lake)
    catalog_of(lake).drop_table("shop.orders")
    create(lake, columns=COLUMNS, properties={"format-version": "1"})
    append(lake, (1, "ann", 2.5))
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, "has format version 1" in diagnostic.message) == ("MS645", True)
    with loaded(lake).transaction() as transaction:
        transaction.upgrade_table_version(2)
    good_build(lake, first_spark)
    assert stored_ids(lake) == [1]
