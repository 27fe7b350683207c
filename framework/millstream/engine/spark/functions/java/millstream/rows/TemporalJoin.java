package millstream.rows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins events with the version of their key that was valid at their time.
 *
 * <p>The rows are both: events have `event`, versions have `version`, which is null if the version
 * before it ends. An event waits until the watermark is `wait` after its time. A version is dropped
 * when the watermark is `keep` after its end; timers come in the order of their times, so no
 * waiting event needs it by then.
 */
public final class TemporalJoin extends StatefulProcessor<Row, Row, Row> {
  private final Encoder<Row> ofVersions;
  private final Encoder<Row> ofWaiting;
  private final long wait;
  private final Long keep;
  private final int keys;
  private final int most;
  private transient MapState<Long, Row> versions;
  private transient MapState<Long, Row> waiting;
  private transient Map<Row, VersionTimes> recent;
  private transient int held;

  private TemporalJoin(
      StructType event, StructType version, long wait, Long keep, int keys, int most) {
    ofVersions =
        Encoders.row(
            new StructType()
                .add("version", version)
                .add("partition", DataTypes.IntegerType)
                .add("offset", DataTypes.LongType));
    StructType timed = new StructType().add("at", DataTypes.LongType).add("event", event);
    ofWaiting = Encoders.row(new StructType().add("events", DataTypes.createArrayType(timed)));
    this.wait = wait;
    this.keep = keep;
    this.keys = keys;
    this.most = most;
  }

  /**
   * Returns the columns `event` and `version` of joined rows; `version` is null if none was valid.
   *
   * <p>The columns are keys, then `at` in microseconds, `event`, `version`, `partition`, `offset`.
   * Without `keep`, in milliseconds like `wait`, all versions are kept. The times of at most so
   * many are held in memory, besides those of the last key.
   */
  public static Dataset<Row> of(
      Dataset<Row> rows, int keys, long wait, Long keep, String mode, int most) {
    StructType schema = rows.schema();
    StructType key = new StructType(Arrays.copyOf(schema.fields(), keys));
    StructType event = (StructType) schema.apply("event").dataType();
    StructType version = (StructType) schema.apply("version").dataType();
    Column[] columns =
        Arrays.stream(key.fieldNames())
            .map(name -> rows.col("`" + name.replace("`", "``") + "`"))
            .toArray(Column[]::new);
    Encoder<Row> result =
        Encoders.row(new StructType().add("event", event).add("version", version));
    OutputMode output = mode.equals("append") ? OutputMode.Append() : OutputMode.Update();
    return rows.groupBy(columns)
        .as(Encoders.row(key), Encoders.row(schema))
        .transformWithState(
            new TemporalJoin(event, version, wait, keep, keys, most),
            TimeMode.EventTime(),
            output,
            result);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    versions = getHandle().getMapState("versions", Encoders.LONG(), ofVersions, TTLConfig.NONE());
    waiting = getHandle().getMapState("waiting", Encoders.LONG(), ofWaiting, TTLConfig.NONE());
    recent = new LinkedHashMap<>(16, 0.75f, true);
    held = 0;
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues times) {
    forget(key);
    List<Row> unmatched = new ArrayList<>();
    Map<Long, List<Row>> arrived = new HashMap<>();
    while (rows.hasNext()) {
      Row row = rows.next();
      if (row.isNullAt(keys + 1)) {
        if (!key.anyNull()) {
          add(row);
        }
      } else if (key.anyNull() || row.isNullAt(keys)) {
        unmatched.add(RowFactory.create(row.get(keys + 1), null));
      } else {
        long leaves = after(row.getLong(keys), wait);
        arrived
            .computeIfAbsent(leaves, time -> new ArrayList<>())
            .add(RowFactory.create(row.getLong(keys), row.get(keys + 1)));
      }
    }
    arrived.forEach(this::store);
    return CollectionConverters.asScala(unmatched.iterator());
  }

  @Override
  public Iterator<Row> handleExpiredTimer(Row key, TimerValues times, ExpiredTimerInfo timer) {
    long now = timer.getExpiryTimeInMs();
    List<Row> joined = new ArrayList<>();
    if (waiting.containsKey(now)) {
      VersionTimes history = versionTimes(key);
      for (Row row : waiting.getValue(now).<Row>getList(0)) {
        Row valid = history.validAt(row.getLong(0));
        joined.add(RowFactory.create(row.get(1), valid == null ? null : valid.get(0)));
      }
      waiting.removeKey(now);
    }
    if (keep != null && versions.exists()) {
      drop(versionTimes(key), now);
    }
    return CollectionConverters.asScala(joined.iterator());
  }

  /** Stores a version; of several with one time, the last one in the topic counts. */
  private void add(Row row) {
    long begins = row.getLong(keys);
    Row version = RowFactory.create(row.get(keys + 2), row.get(keys + 3), row.get(keys + 4));
    if (versions.containsKey(begins) && isLater(versions.getValue(begins), version)) {
      return;
    }
    versions.updateValue(begins, version);
    if (keep != null) {
      getHandle().registerTimer(after(begins, keep));
    }
  }

  private static boolean isLater(Row one, Row other) {
    int partitions = Integer.compare(one.getInt(1), other.getInt(1));
    return partitions != 0 ? partitions > 0 : one.getLong(2) > other.getLong(2);
  }

  private void store(long leaves, List<Row> rows) {
    List<Row> all = new ArrayList<>();
    if (waiting.containsKey(leaves)) {
      all.addAll(waiting.getValue(leaves).<Row>getList(0));
    }
    all.addAll(rows);
    waiting.updateValue(
        leaves, RowFactory.create(List$.MODULE$.from(CollectionConverters.asScala(all))));
    getHandle().registerTimer(leaves);
  }

  /** Drops the versions whose end is long enough ago, and the end of a version that is dropped. */
  private void drop(VersionTimes history, long now) {
    while (history.size() > 0) {
      long first = history.time(0);
      boolean ended = history.size() > 1 && after(history.time(1), keep) <= now;
      if (!ended && !(after(first, keep) <= now && versions.getValue(first).isNullAt(0))) {
        return;
      }
      history.first++;
      versions.removeKey(first);
      held--;
    }
  }

  /** Returns the first millisecond that is so many after a time in microseconds. */
  private static long after(long micros, long millis) {
    return Math.floorDiv(micros, 1000L) + 1 + millis;
  }

  private VersionTimes versionTimes(Row key) {
    VersionTimes versions = recent.get(key);
    if (versions == null) {
      for (var oldest = recent.values().iterator();
          held > most && oldest.hasNext();
          oldest.remove()) {
        held -= oldest.next().size();
      }
      versions = new VersionTimes();
      held += versions.size();
      recent.put(key, versions);
    }
    return versions;
  }

  private void forget(Row key) {
    VersionTimes history = recent.remove(key);
    held -= history == null ? 0 : history.size();
  }

  /**
   * The times of a key's versions in their order. The versions themselves are only read where they
   * are needed.
   */
  private final class VersionTimes {
    private final long[] times;
    private int first;
    private int last = -1;
    private Row version;

    VersionTimes() {
      LongStream.Builder builder = LongStream.builder();
      versions.keys().foreach(builder::add);
      times = builder.build().sorted().toArray();
    }

    int size() {
      return times.length - first;
    }

    long time(int index) {
      return times[first + index];
    }

    /** Returns the version that is valid at a time, or null. */
    Row validAt(long time) {
      int number = Arrays.binarySearch(times, first, times.length, time);
      int index = number < 0 ? -number - 2 : number;
      if (index < first) {
        return null;
      }
      if (index != last) {
        version = versions.getValue(times[index]);
        last = index;
      }
      return version;
    }
  }
}
