package millstream.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import millstream.kafka.RecordSource;
import millstream.kafka.Records;
import millstream.kafka.Transaction;
import millstream.kafka.TransactionSettings;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;

/**
 * Writes records to Kafka in one transaction, together with a marker that says which batch they
 * are.
 *
 * <p>On one machine, all tasks share the producer of the driver, which commits once they are done.
 * On a cluster, a single task sends all records: several producers have several transactions, which
 * a crash could commit in part.
 */
public final class TransactionalSink implements CreatableRelationProvider {
  private static final Map<String, Map<String, Long>> COUNTS = new ConcurrentHashMap<>();

  @Override
  public BaseRelation createRelation(
      SQLContext context,
      SaveMode mode,
      scala.collection.immutable.Map<String, String> parameters,
      Dataset<Row> data) {
    send(data, Records.of(data.schema(), parameters), parameters);
    return new Written(context);
  }

  static void send(
      Dataset<Row> data,
      RecordSource records,
      scala.collection.immutable.Map<String, String> parameters) {
    TransactionSettings settings = TransactionSettings.of(parameters);
    boolean local = data.sparkSession().sparkContext().isLocal();
    Dataset<Row> input = local ? data : data.repartition(1);
    JavaRDD<InternalRow> rows =
        ((org.apache.spark.sql.classic.Dataset<Row>) input).queryExecution().toRdd().toJavaRDD();
    List<HashMap<String, Long>> counts =
        local
            ? here(rows, records, settings)
            : rows.mapPartitions(new Alone(records, settings)).collect();
    Map<String, Long> total = new HashMap<>();
    counts.forEach(value -> value.forEach((topic, count) -> total.merge(topic, count, Long::sum)));
    COUNTS.put(settings.call(), total);
  }

  /** Returns how many records of each topic a call has sent; once. */
  public static Map<String, Long> sent(String call) {
    Map<String, Long> entries = COUNTS.remove(call);
    return entries == null ? Map.of() : entries;
  }

  /** Forgets what an earlier command has left in this JVM. */
  static void forget() {
    COUNTS.clear();
  }

  private static List<HashMap<String, Long>> here(
      JavaRDD<InternalRow> rows, RecordSource records, TransactionSettings settings) {
    Transaction transaction = Transaction.begin(settings);
    String name = UUID.randomUUID().toString();
    try {
      Transaction.OPEN.put(name, transaction);
      List<HashMap<String, Long>> counts = rows.mapPartitions(new Shared(name, records)).collect();
      transaction.commit(counts.stream().anyMatch(value -> !value.isEmpty()));
      return counts;
    } catch (Throwable error) {
      transaction.abandon();
      throw error;
    } finally {
      Transaction.OPEN.remove(name);
    }
  }

  /**
   * A repeated task would send its records twice within the transaction, so the batch is repeated
   * instead.
   */
  private static void refuseRepeated() {
    TaskContext task = TaskContext.get();
    if (task.attemptNumber() > 0 || task.stageAttemptNumber() > 0) {
      throw new IllegalStateException(
          "the task that sends the records of a transaction failed; the batch is repeated");
    }
  }

  /** Sends the records of one partition by the producer of the driver. */
  private record Shared(String name, RecordSource records)
      implements FlatMapFunction<Iterator<InternalRow>, HashMap<String, Long>> {
    @Override
    public Iterator<HashMap<String, Long>> call(Iterator<InternalRow> rows) {
      refuseRepeated();
      Transaction transaction = Transaction.OPEN.get(name);
      if (transaction == null) {
        throw new IllegalStateException("the transaction has ended");
      }
      return List.of(transaction.send(rows, records)).iterator();
    }
  }

  /** Sends all records by a producer of its own. */
  private record Alone(RecordSource records, TransactionSettings settings)
      implements FlatMapFunction<Iterator<InternalRow>, HashMap<String, Long>> {
    @Override
    public Iterator<HashMap<String, Long>> call(Iterator<InternalRow> rows) {
      refuseRepeated();
      if (!rows.hasNext()) {
        return Collections.emptyIterator();
      }
      Transaction transaction = Transaction.begin(settings);
      try {
        HashMap<String, Long> counts = transaction.send(rows, records);
        transaction.commit(true);
        Transaction.close(
            settings.id()); // the next batch may run elsewhere, which ends this producer
        return List.of(counts).iterator();
      } finally {
        transaction.abandon();
      }
    }
  }
}
