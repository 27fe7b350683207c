"""A stream of given micro-batches has exactly these, also empty ones, and goes on from its checkpoint."""

from millstream.engine.spark.given_batches import stream_batches

NUMBER = "number_of_batch"


def run(spark, rows, count, checkpoint):
    batches = []
    stream = stream_batches(spark.createDataFrame(rows, f"id int, {NUMBER} int"), NUMBER, count)
    assert stream.isStreaming
    query = stream.writeStream.foreachBatch(
        lambda batch, number: batches.append((number, [row.id for row in batch.collect()]))
    )
    query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return batches


def test_each_batch_is_a_micro_batch_and_a_restart_goes_on(first_spark, tmp_path):
    rows = [(1, 0), (2, 0), (3, 2)]
    assert run(first_spark, rows, 3, tmp_path) == [(0, [1, 2]), (1, []), (2, [3])]
    assert run(first_spark, [*rows, (4, 4)], 5, tmp_path) == [(3, []), (4, [4])]
    assert run(first_spark, [*rows, (4, 4)], 5, tmp_path) == []
