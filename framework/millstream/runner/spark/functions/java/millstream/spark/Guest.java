package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaSourceProvider$;
import org.apache.spark.sql.kafka010.producer.CachedKafkaProducer;
import org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** A batch of a query without a state, whose records the tasks of another query make while they read them: its host. */
public final class Guest {
  private final Set<KafkaOffsetRange> ranges;
  private final String topic;
  private final SparkSession session;
  private final Work work;

  Guest(
      RecordMaker.Made made, int[] places, Map<String, String> options, Dataset<Row> batch, String topic, SparkSession session) {
    this.ranges = KafkaReads.ranges(batch, topic);
    this.topic = topic;
    this.session = session;
    LongAccumulator rows = session.sparkContext().longAccumulator("records of a guest");
    scala.collection.immutable.Map<String, String> given = Map$.MODULE$.from(CollectionConverters.asScala(options));
    Map<String, Object> producer = KafkaSourceProvider$.MODULE$.kafkaParamsForProducer(CaseInsensitiveMap$.MODULE$.apply(given));
    this.work = new Work(made, places, new HashMap<>(producer), rows);
  }

  Set<KafkaOffsetRange> ranges() {
    return ranges;
  }

  /** Returns how many of a topic's columns it needs: headers come last. */
  int reads() {
    return 1 + Arrays.stream(work.places).max().orElse(-1);
  }

  Work work() {
    return work;
  }

  /** Returns how many records tasks have passed on that ended well. */
  long rows() {
    return work.rows.value();
  }

  /** Completes a batch that its host has made: Spark learns how many records it has read. Returns what was observed, by name. */
  public Map<String, Row> complete() {
    KafkaReads.scans(session, topic).forEach(each -> each.longMetric("numOutputRows").add(rows()));
    return work.made.found();
  }

  /** What a task of the host does. */
  record Work(RecordMaker.Made made, int[] places, HashMap<String, Object> settings, LongAccumulator rows) implements Serializable {
    Task begin(TaskContext context) {
      Task task = new Task(this);
      context.addTaskCompletionListener((TaskCompletionListener) ended -> task.end(!ended.isFailed() && !ended.isInterrupted()));
      return task;
    }
  }

  /**
   * The rows of a task. Where they fail, their query has to make all records of its batch itself, and says why: that must not
   * fail the host.
   */
  static final class Task {
    private final Work work;
    private final CachedKafkaProducer producer;
    private final Sending sending;
    private final Several several;
    private final RecordMaker.Making making;
    private long rows;
    private boolean failed;

    private Task(Work work) {
      this.work = work;
      producer = InternalKafkaProducerPool$.MODULE$.acquire(work.settings);
      sending = new Sending(producer.producer());
      several = new Several(sending);
      making = work.made.begin(several);
    }

    void add(Object[] record) {
      if (!failed) {
        tried(() -> making.path().run(record, work.places));
        rows++;
      }
    }

    private void end(boolean well) {
      if (well && !failed) {
        tried(() -> {
          several.send();
          sending.finish();
        });
      }
      InternalKafkaProducerPool$.MODULE$.release(producer);
      if (well && !failed) {
        making.end();
        work.rows.add(rows);
      }
    }

    private void tried(Runnable part) {
      try {
        part.run();
      } catch (RuntimeException error) {
        failed = true;
      }
    }
  }
}
