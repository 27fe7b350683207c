package millstream.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;

/**
 * Spark's source of a topic, which has no new records before the first batch of its query is done.
 */
public final class HeldSource extends TopicSource {
  @Override
  Streams streams(Map<String, String> options) {
    return (kafka, checkpoint) -> {
      // Spark gives a source the folder `sources/0` of the query's checkpoint
      // (MicroBatchExecution).
      Path query = new Path(checkpoint).getParent().getParent();
      return new HeldStream(kafka, new Path(query, "commits/0"));
    };
  }

  private static final class HeldStream extends TopicStream {
    private final Path firstBatch;
    private boolean released;

    HeldStream(MicroBatchStream kafka, Path firstBatch) {
      super(kafka);
      this.firstBatch = firstBatch;
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      released = released || isDone();
      // Also a topic that waits knows its end, for the metrics of the batch.
      Offset end = super.latestOffset(start, limit);
      return released ? end : start;
    }

    private boolean isDone() {
      try {
        return firstBatch
            .getFileSystem(SparkSession.active().sessionState().newHadoopConf())
            .exists(firstBatch);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
