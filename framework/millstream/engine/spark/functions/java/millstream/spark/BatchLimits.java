package millstream.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Changes how many records of its topics a running query reads in its next batch.
 *
 * <p>Spark takes the limits of a source from its options when the query starts, and asks the source
 * for the end of each batch with them.
 */
public final class BatchLimits {
  private BatchLimits() {}

  /** Sets the limits of topics; the query's other sources keep theirs. */
  @SuppressWarnings("unchecked")
  public static void limit(StreamingQueryWrapper query, Map<String, ? extends Number> topics) {
    StreamExecution execution = query.streamingQuery();
    scala.collection.immutable.Map<SparkDataStream, ReadLimit> limits = execution.uniqueSources();
    for (Map.Entry<SparkDataStream, ReadLimit> entry :
        CollectionConverters.asJava(limits).entrySet()) {
      for (Map.Entry<String, ? extends Number> topic : topics.entrySet()) {
        if (entry.getKey().toString().equals("KafkaV2[Subscribe[" + topic.getKey() + "]]")) {
          limits =
              limits.updated(
                  entry.getKey(), limited(entry.getValue(), topic.getValue().longValue()));
        }
      }
    }
    execution.uniqueSources_$eq(limits);
  }

  /** Returns a limit with another maximum, and the same minimum. */
  private static ReadLimit limited(ReadLimit limit, long rows) {
    List<ReadLimit> parts = new ArrayList<>();
    parts.add(ReadLimit.maxRows(rows));
    for (ReadLimit part :
        limit instanceof CompositeReadLimit both ? both.getReadLimits() : new ReadLimit[] {limit}) {
      if (!(part instanceof ReadMaxRows) && !(part instanceof ReadAllAvailable)) {
        parts.add(part);
      }
    }
    return parts.size() == 1
        ? parts.get(0)
        : ReadLimit.compositeLimit(parts.toArray(new ReadLimit[0]));
  }
}
