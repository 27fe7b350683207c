package millstream.rows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.collection.immutable.List$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Drops a row if one with the same key has passed whose time is at most `within` before or after
 * its own.
 *
 * <p>The state of a key is the times of rows that passed, until the watermark is `within` after
 * them: a row for which one of them would matter is then dropped as late. Times that passed are
 * further apart than `within`, so there are few.
 */
public final class Deduplicate extends StatefulProcessor<Row, Row, Row> {
  private static final StructType TIMES =
      new StructType()
          .add("last", DataTypes.LongType)
          .add("earlier", DataTypes.createArrayType(DataTypes.LongType, false));

  private final long within;
  private final int columns;
  private final boolean streaming;
  private transient ValueState<Row> stored;

  private Deduplicate(long within, int columns, boolean streaming) {
    this.within = within;
    this.columns = columns;
    this.streaming = streaming;
  }

  /**
   * Returns the rows that pass.
   *
   * <p>Their last columns are their time in microseconds, and their partition and offset in the
   * topic. `within` is in microseconds. A batch has no watermark, and so forgets nothing.
   */
  public static Dataset<Row> of(Dataset<Row> rows, List<String> keys, long within, String mode) {
    StructType schema = rows.schema();
    StructType key = new StructType(keys.stream().map(schema::apply).toArray(StructField[]::new));
    Column[] grouped = keys.stream().map(name -> compared(rows, name)).toArray(Column[]::new);
    Deduplicate processor = new Deduplicate(within, schema.size() - 3, rows.isStreaming());
    return rows.groupBy(grouped)
        .as(Encoders.row(key), rows.encoder())
        .transformWithState(
            processor,
            rows.isStreaming() ? TimeMode.EventTime() : TimeMode.None(),
            mode.equals("append") ? OutputMode.Append() : OutputMode.Update(),
            rows.encoder());
  }

  private static Column compared(Dataset<Row> rows, String name) {
    Column column = rows.col("`" + name.replace("`", "``") + "`");
    DataType type = rows.schema().apply(name).dataType();
    boolean inexact = type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType);
    // States compare bytes, by which -0.0 is another number.
    return inexact ? column.plus(0).cast(type).as(name) : column;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    stored = getHandle().getValueState("passed", Encoders.row(TIMES), TTLConfig.NONE());
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues timers) {
    TreeSet<Long> times = times();
    boolean unknown = times.isEmpty();
    int before = times.size();
    List<Row> passed = new ArrayList<>();
    for (Candidate candidate : inOrder(candidates(rows, times, passed))) {
      if (!isNear(times, candidate.time)) {
        times.add(candidate.time);
        passed.add(candidate.row);
      }
    }
    if (times.size() > before) {
      store(times);
      if (unknown) {
        setTimer(times);
      }
    }
    return CollectionConverters.asScala(passed.iterator());
  }

  @Override
  public Iterator<Row> handleExpiredTimer(Row key, TimerValues timers, ExpiredTimerInfo timer) {
    TreeSet<Long> times = times();
    times.removeIf(time -> forgottenAt(time) <= timers.getCurrentWatermarkInMs());
    if (times.isEmpty()) {
      stored.clear();
    } else {
      store(times);
      setTimer(times);
    }
    return CollectionConverters.asScala(List.<Row>of().iterator());
  }

  /** Returns the rows that may pass; those without a time do. */
  private List<Candidate> candidates(Iterator<Row> rows, TreeSet<Long> times, List<Row> passed) {
    List<Candidate> candidates = new ArrayList<>();
    while (rows.hasNext()) {
      Row row = rows.next();
      if (row.isNullAt(columns)) {
        passed.add(row);
      } else if (!isNear(times, row.getLong(columns))) {
        candidates.add(new Candidate(row, columns));
      }
    }
    return candidates;
  }

  private boolean isNear(TreeSet<Long> times, long time) {
    Long before = times.floor(time);
    Long after = times.ceiling(time);
    return (before != null && time - before <= within) || (after != null && after - time <= within);
  }

  /** Returns the first millisecond at which no row that is not late is near a time. */
  private long forgottenAt(long time) {
    return -Math.floorDiv(-(time + within), 1000L);
  }

  /** Sets the only timer of a key; what its state has got by then is forgotten by the next one. */
  private void setTimer(TreeSet<Long> times) {
    if (streaming) {
      getHandle().registerTimer(forgottenAt(times.last()));
    }
  }

  private TreeSet<Long> times() {
    TreeSet<Long> times = new TreeSet<>();
    Row row = stored.get();
    if (row != null) {
      times.add(row.getLong(0));
      if (!row.isNullAt(1)) {
        times.addAll(row.<Long>getList(1));
      }
    }
    return times;
  }

  private void store(TreeSet<Long> times) {
    Seq<Long> earlier =
        times.size() == 1
            ? null
            : List$.MODULE$.from(
                CollectionConverters.asScala(new ArrayList<>(times.headSet(times.last()))));
    stored.update(RowFactory.create(times.last(), earlier));
  }

  /**
   * Puts the rows of a batch in the order in which they are compared.
   *
   * <p>Those of a partition stay in its order, so batches make no difference for them. Of the next
   * ones of several partitions, the one with the earliest time comes first, as in Kafka Streams.
   * Rows without a place have a partition each.
   */
  private static List<Candidate> inOrder(List<Candidate> rows) {
    if (rows.size() < 2) {
      return rows;
    }
    rows.sort(Candidate.BY_PLACE);
    Candidate before = null;
    for (Candidate candidate : rows) {
      if (before != null && candidate.placed && before.partition == candidate.partition) {
        candidate.turn = Math.max(candidate.turn, before.turn);
      }
      before = candidate;
    }
    rows.sort(Comparator.comparingLong((Candidate candidate) -> candidate.turn));
    return rows;
  }

  private static final class Candidate {
    static final Comparator<Candidate> BY_PLACE =
        Comparator.comparingInt((Candidate candidate) -> candidate.partition)
            .thenComparingLong(candidate -> candidate.offset)
            .thenComparingLong(candidate -> candidate.time)
            .thenComparing(Candidate::values);

    final Row row;
    final long time;
    final boolean placed;
    final int partition;
    final long offset;

    /** The time at which its turn comes: the newest one in its partition up to here. */
    long turn;

    Candidate(Row row, int columns) {
      this.row = row;
      time = row.getLong(columns);
      placed = !row.isNullAt(columns + 2);
      partition = placed ? row.getInt(columns + 1) : 0;
      offset = placed ? row.getLong(columns + 2) : 0;
      turn = time;
    }

    /**
     * Returns a text of all values, so that rows that differ in nothing else have an order, too.
     */
    String values() {
      return text(row);
    }

    private static String text(Object value) {
      if (value instanceof Row row) {
        return IntStream.range(0, row.size())
            .mapToObj(index -> text(row.get(index)))
            .collect(Collectors.joining(",", "(", ")"));
      }
      if (value instanceof Seq<?> list) {
        return CollectionConverters.asJava(list).stream()
            .map(Candidate::text)
            .collect(Collectors.joining(",", "[", "]"));
      }
      if (value instanceof scala.collection.Map<?, ?> map) {
        return CollectionConverters.asJava(map).entrySet().stream()
            .map(Candidate::entry)
            .sorted()
            .collect(Collectors.joining(",", "{", "}"));
      }
      return value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
    }

    private static String entry(Map.Entry<?, ?> entry) {
      return text(entry.getKey()) + "=" + text(entry.getValue());
    }
  }
}
