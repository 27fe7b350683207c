"""Queries that have ended are collected by Java and by Python."""

import gc
import time
import weakref

from millstream.engine.queries.callbacks import called_by

PATIENCE = 60


class Closure:
    """What a function of a query refers to."""


def ended(spark, folder):
    """Run a query to its end, whose function refers to its own session; return what sees both collected."""
    session, closure, batches = spark.newSession(), Closure(), []
    rows = session.readStream.schema("a int").json(str(folder))

    def each_batch(batch, _number):
        batches.append((closure, session, batch.count()))

    writer = rows.writeStream.option("checkpointLocation", str(folder.with_name(f"of_{id(closure)}")))
    streaming = writer.foreachBatch(each_batch).trigger(availableNow=True).start()
    called_by(streaming, each_batch)
    assert streaming.awaitTermination(PATIENCE)
    assert [count for *_, count in batches] == [1]
    return weakref.ref(closure), spark._jvm.java.lang.ref.WeakReference(streaming._jsq)


def test_nothing_of_a_query_that_has_ended_is_kept(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.json").write_text('{"a": 1}')
    closure, streaming = ended(spark, folder)
    assert closure() is not None
    last, _ = ended(spark, folder)  # the start of the next one lets go of it
    limit = time.monotonic() + PATIENCE
    while closure() is not None or streaming.get() is not None:
        assert time.monotonic() < limit, (closure(), streaming.get())
        gc.collect()
        spark._jvm.java.lang.System.gc()
    assert last() is not None  # of the query that was started last
