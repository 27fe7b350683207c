"""Nothing of a query runs on when Spark has stopped."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from pathlib import Path
from millstream.project.values import Target
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark, state_stores, stop_spark

folder = Path(sys.argv[1])
target = Target("tests", "local", {"master": "local[1]", "spark": {"spark.sql.shuffle.partitions": 1}})
spark = start_spark("tests", target, jars_for(target), folder / "log")
numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().groupBy("value").count()
query = numbers.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder / "query")).start()
while not query.recentProgress:
    assert not query.awaitTermination(0.1), query.exception()
query.stop()
stores = state_stores(spark)
print(stores.isMaintenanceRunning())
stop_spark(spark)
print(stores.isMaintenanceRunning())
"""


@pytest.mark.long
def test_states_are_not_maintained_after_spark_has_stopped(tmp_path):
    """The thread would write "SparkEnv not active" to spark.log."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["True", "False"]


BUSY = """
import sys
from pathlib import Path
from millstream.project.values import Target
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark, stop_spark

folder = Path(sys.argv[1])
often = {"spark.sql.shuffle.partitions": 40, "spark.sql.streaming.stateStore.maintenanceInterval": "20"}
target = Target("tests", "local", {"master": "local[2]", "spark": often})
spark = start_spark("tests", target, jars_for(target), folder / "log")
(folder / "in").mkdir()
(folder / "in/a.json").write_text('{"a": 1}')
for name in ("one", "other"):
    counts = spark.readStream.schema("a int").json(str(folder / "in")).groupBy("a").count()
    writer = counts.writeStream.format("noop").outputMode("complete").option("checkpointLocation", str(folder / name))
    writer.trigger(availableNow=True).start().awaitTermination()
stop_spark(spark)
print("stopped")
"""


@pytest.mark.long
def test_spark_stops_while_states_are_maintained(tmp_path):
    """Spark alone would wait for five minutes: what it waits for needs a lock that it holds."""
    result = subprocess.run(
        [sys.executable, "-c", BUSY, tmp_path], capture_output=True, text=True, check=True, timeout=200
    )
    assert result.stdout.split() == ["stopped"]
