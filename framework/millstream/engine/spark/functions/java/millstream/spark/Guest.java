package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import millstream.kafka.Sending;
import millstream.kafka.Several;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.util.LongAccumulator;

/**
 * A batch of a query without a state, whose records the tasks of another query make while they read
 * them: its host.
 */
public final class Guest {
  private final List<Set<KafkaOffsetRange>> reads;
  private final String topic;
  private final SparkSession session;
  private final Work work;

  Guest(
      RecordMaker.BatchRecords records,
      int[] positions,
      HashMap<String, Object> producer,
      Dataset<Row> batch,
      String topic,
      SparkSession session) {
    this.reads = KafkaReads.of(batch, topic);
    this.topic = topic;
    this.session = session;
    LongAccumulator partitions = session.sparkContext().longAccumulator("partitions of a guest");
    LongAccumulator rows = session.sparkContext().longAccumulator("records of a guest");
    this.work = new Work(records, positions, producer, partitions, rows);
  }

  /** Returns what each read of the topic reads in the batch. */
  List<Set<KafkaOffsetRange>> reads() {
    return reads;
  }

  boolean needsHeaders() {
    return Arrays.stream(work.positions).anyMatch(column -> column == Host.HEADERS);
  }

  Work work() {
    return work;
  }

  /**
   * Returns whether all records have been made: each partition was read to its end, by a successful
   * task.
   */
  public boolean isComplete() {
    return reads.size() == 1 && work.partitions.value() == reads.get(0).size();
  }

  /**
   * Completes a batch that its host has made: Spark learns how many records it has read. Returns
   * what was observed, by name.
   */
  public Map<String, Row> complete() {
    KafkaReads.scans(session, topic)
        .forEach(scan -> scan.longMetric("numOutputRows").add(work.rows.value()));
    return work.records.metrics();
  }

  /** What the tasks of the host do. */
  record Work(
      RecordMaker.BatchRecords records,
      int[] positions,
      HashMap<String, Object> settings,
      LongAccumulator partitions,
      LongAccumulator rows)
      implements Serializable {
    Task begin() {
      return new Task(this);
    }
  }

  /**
   * The records of a partition. Where they fail, their query makes all records of its batch itself,
   * and says why: that must not fail the host.
   */
  static final class Task {
    private final Work work;
    private SharedProducer producer;
    private Sending sending;
    private Several several;
    private RecordMaker.Making making;
    private long rows;
    private boolean failed;

    private Task(Work work) {
      this.work = work;
      tried(
          () -> {
            producer = new SharedProducer(work.settings);
            sending = producer.sending();
            several = new Several(sending);
            making = work.records.begin(several);
          });
    }

    void add(InternalRow record) {
      rows++;
      tried(() -> making.path().run(record, work.positions));
    }

    /** Waits until Kafka has all records, once; only what a task has done to its end counts. */
    void end() {
      if (producer == null) {
        return;
      }
      tried(
          () -> {
            several.send();
            sending.finish();
            making.end();
            work.partitions.add(1L);
            work.rows.add(rows);
          });
      close();
    }

    void close() {
      if (producer != null) {
        producer.close();
        producer = null;
      }
    }

    /** Generated code also throws checked exceptions of Spark. */
    private void tried(Runnable part) {
      if (!failed) {
        try {
          part.run();
        } catch (Exception error) {
          failed = true;
        }
      }
    }
  }
}
