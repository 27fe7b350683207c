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
    List<Set<KafkaOffsetRange>> reads = new ArrayList<>();
    if (batch.queryExecution().analyzed() instanceof LogicalRDD rows) {
      Set<Integer> visited = new HashSet<>();
      Deque<RDD<?>> next = new ArrayDeque<>(List.of(rows.rdd()));
      while (!next.isEmpty()) {
        RDD<?> rdd = next.pop();
        if (!visited.add(rdd.id())) {
          continue;
        }
        Set<KafkaOffsetRange> offsets =
            rdd instanceof DataSourceRDD ? ranges(rdd.partitions(), topic) : Set.of();
        if (!offsets.isEmpty()) {
          reads.add(offsets);
        }
        for (Dependency<?> below : CollectionConverters.asJava(rdd.dependencies())) {
          next.push(below.rdd());
        }
      }
    }
    return reads;
  }

  private static Set<KafkaOffsetRange> ranges(Partition[] partitions, String topic) {
    Set<KafkaOffsetRange> ranges = new HashSet<>();
    for (Partition partition : partitions) {
      if (partition instanceof DataSourceRDDPartition read
          && read.inputPartition().isDefined()
          && read.inputPartition().get() instanceof KafkaBatchInputPartition records
          && records.offsetRange().topic().equals(topic)) {
        ranges.add(records.offsetRange());
      }
    }
    return ranges;
  }

  /** Returns what reads a topic in the batch that the only query of a session runs. */
  static List<MicroBatchScanExec> scans(SparkSession session, String topic) {
    List<MicroBatchScanExec> scans = new ArrayList<>();
    for (StreamingQuery query : session.streams().active()) {
      StreamExecution running = ((StreamingQueryWrapper) query).streamingQuery();
      for (SparkPlan leaf :
          CollectionConverters.asJava(running.lastExecution().executedPlan().collectLeaves())) {
        if (leaf instanceof MicroBatchScanExec scan
            && scan.stream().toString().equals("KafkaV2[Subscribe[" + topic + "]]")) {
          scans.add(scan);
        }
      }
    }
    return scans;
  }
}
