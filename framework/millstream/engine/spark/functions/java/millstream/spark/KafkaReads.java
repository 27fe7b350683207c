package millstream.spark;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDD;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.jdk.javaapi.CollectionConverters;

/** What the batches of streaming queries read from Kafka. */
final class KafkaReads {
  private KafkaReads() {}

  /** Returns what each read of a topic reads in a batch. */
  static List<Set<KafkaOffsetRange>> of(Dataset<Row> batch, String topic) {
    List<Set<KafkaOffsetRange>> found = new ArrayList<>();
    if (batch.queryExecution().analyzed() instanceof LogicalRDD rows) {
      Set<Integer> known = new HashSet<>();
      Deque<RDD<?>> next = new ArrayDeque<>(List.of(rows.rdd()));
      while (!next.isEmpty()) {
        RDD<?> each = next.pop();
        if (!known.add(each.id())) {
          continue;
        }
        Set<KafkaOffsetRange> own = each instanceof DataSourceRDD ? ranges(each.partitions(), topic) : Set.of();
        if (!own.isEmpty()) {
          found.add(own);
        }
        for (Dependency<?> below : CollectionConverters.asJava(each.dependencies())) {
          next.push(below.rdd());
        }
      }
    }
    return found;
  }

  private static Set<KafkaOffsetRange> ranges(Partition[] partitions, String topic) {
    Set<KafkaOffsetRange> found = new HashSet<>();
    for (Partition each : partitions) {
      if (each instanceof DataSourceRDDPartition read && read.inputPartition().isDefined()
          && read.inputPartition().get() instanceof KafkaBatchInputPartition records && records.offsetRange().topic().equals(topic)) {
        found.add(records.offsetRange());
      }
    }
    return found;
  }

  /** Returns what reads a topic in the batch that the only query of a session runs. */
  static List<MicroBatchScanExec> scans(SparkSession session, String topic) {
    List<MicroBatchScanExec> found = new ArrayList<>();
    for (StreamingQuery each : session.streams().active()) {
      StreamExecution running = ((StreamingQueryWrapper) each).streamingQuery();
      for (SparkPlan leaf : CollectionConverters.asJava(running.lastExecution().executedPlan().collectLeaves())) {
        if (leaf instanceof MicroBatchScanExec scan && scan.stream().toString().equals("KafkaV2[Subscribe[" + topic + "]]")) {
          found.add(scan);
        }
      }
    }
    return found;
  }
}
