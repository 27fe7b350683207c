package millstream.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a query that ran once. If they are few, plans read them from the driver, without
 * shuffles and caches.
 */
public final class SmallBatch {
  private final QueryExecution execution;
  private final JavaRDD<InternalRow> stored;
  private final Dataset<Row> rows;
  private final int local;

  private SmallBatch(
      QueryExecution execution, JavaRDD<InternalRow> stored, Dataset<Row> rows, int local) {
    this.execution = execution;
    this.stored = stored;
    this.rows = rows;
    this.local = local;
  }

  /**
   * Runs a query. At most so many rows and bytes come to the driver; more are stored where they
   * were computed.
   */
  public static SmallBatch of(org.apache.spark.sql.Dataset<Row> query, int most, int bytes) {
    Dataset<Row> rows = (Dataset<Row>) query;
    QueryExecution execution = rows.queryExecution();
    return SQLExecution.withNewExecutionId(
        execution, Option.apply("rows"), () -> run(rows, execution, most, bytes));
  }

  private static SmallBatch run(Dataset<Row> query, QueryExecution execution, int most, int bytes) {
    JavaRDD<InternalRow> stored =
        execution.toRdd().toJavaRDD().map(new Copy()).persist(StorageLevel.MEMORY_AND_DISK());
    // Each partition is computed to its end, or a state would not be complete.
    List<List<InternalRow>> parts = stored.mapPartitions(new AtMost(most, bytes)).collect();
    SparkSession session = query.sparkSession();
    List<InternalRow> all = new ArrayList<>();
    Room room = new Room(most, bytes);
    for (List<InternalRow> part : parts) {
      if (part == null || !part.stream().allMatch(room::takes)) {
        Dataset<Row> rows = session.internalCreateDataFrame(stored.rdd(), query.schema(), false);
        return new SmallBatch(execution, stored, rows, 0);
      }
      all.addAll(part);
    }
    stored.unpersist(false);
    Seq<Attribute> columns = execution.analyzed().output();
    Seq<InternalRow> local = Extensions.seq(all);
    LocalRelation relation = new LocalRelation(columns, local, false, Option.empty());
    return new SmallBatch(execution, null, Dataset.ofRows(session, relation), all.size());
  }

  public Dataset<Row> rows() {
    return rows;
  }

  /** Whether the rows are in the driver. */
  public boolean isLocal() {
    return stored == null;
  }

  /** Returns the number of rows; only rows in the driver are counted without a job. */
  public long count() {
    return stored == null ? local : stored.count();
  }

  /**
   * Returns the only number that was observed under a name while the query ran; Spark drops plans
   * without rows.
   */
  public long observed(String name) {
    Row row = CollectionConverters.asJava(execution.observedMetrics()).get(name);
    return row == null ? 0 : row.getLong(0);
  }

  public void close() {
    if (stored != null) {
      stored.unpersist(false);
    }
  }

  /** Spark's operators return the same object for each row. */
  private static final class Copy implements Function<InternalRow, InternalRow> {
    @Override
    public InternalRow call(InternalRow row) {
      return row.copy();
    }
  }

  /** Counts rows and bytes until there are too many. */
  private static final class Room {
    private long rows;
    private long bytes;

    Room(int rows, int bytes) {
      this.rows = rows;
      this.bytes = bytes;
    }

    boolean takes(InternalRow row) {
      rows -= 1;
      bytes -= ((UnsafeRow) row).getSizeInBytes();
      return rows >= 0 && bytes >= 0;
    }
  }

  /** Returns the rows of a partition, or null if there are more. */
  private static final class AtMost
      implements FlatMapFunction<Iterator<InternalRow>, List<InternalRow>> {
    private final int most;
    private final int bytes;

    AtMost(int most, int bytes) {
      this.most = most;
      this.bytes = bytes;
    }

    @Override
    public Iterator<List<InternalRow>> call(Iterator<InternalRow> rows) {
      List<InternalRow> elements = new ArrayList<>();
      Room room = new Room(most, bytes);
      boolean few = most >= 0;
      while (rows.hasNext()) {
        InternalRow row = rows.next();
        few = few && room.takes(row);
        if (few) {
          elements.add(row);
        }
      }
      List<List<InternalRow>> result = new ArrayList<>();
      result.add(few ? elements : null);
      return result.iterator();
    }
  }
}
