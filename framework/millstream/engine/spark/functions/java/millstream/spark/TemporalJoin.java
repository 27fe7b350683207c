package millstream.spark;

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
import org.apache.spark.sql.classic.SparkSession;
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
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins events with the version of their key that was valid at their time.
 *
 * <p>The rows are both: events have `event`, versions have `version`, which is null if the version before it ends.
 * An event waits until the watermark is `wait` after its time. A version is dropped when the watermark is `keep` after
 * its end; timers come in the order of their times, so no waiting event needs it by then.
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
  private transient Map<Row, Known> recent;
  private transient int held;

  private TemporalJoin(StructType event, StructType version, long wait, Long keep, int keys, int most) {
    ofVersions = Encoders.row(new StructType().add("version", version).add("partition", DataTypes.IntegerType)
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
   * <p>The columns are keys, then `at` in microseconds, `event`, `version`, `partition`, `offset`. Without `keep`, in
   * milliseconds like `wait`, all versions are kept. The times of at most so many are held in memory, besides those of
   * the last key.
   */
  public static Dataset<Row> of(Dataset<Row> rows, int keys, long wait, Long keep, String mode, int most) {
    // The settings of the session decide which classes of Java stand for dates: all encoders need the same ones.
    return ((SparkSession) rows.sparkSession()).withActive(() -> joined(rows, keys, wait, keep, mode, most));
  }

  private static Dataset<Row> joined(Dataset<Row> rows, int keys, long wait, Long keep, String mode, int most) {
    StructType schema = rows.schema();
    StructType key = new StructType(Arrays.copyOf(schema.fields(), keys));
    StructType event = (StructType) schema.apply("event").dataType();
    StructType version = (StructType) schema.apply("version").dataType();
    Column[] columns = Arrays.stream(key.fieldNames()).map(name -> rows.col("`" + name.replace("`", "``") + "`"))
        .toArray(Column[]::new);
    Encoder<Row> made = Encoders.row(new StructType().add("event", event).add("version", version));
    OutputMode output = mode.equals("append") ? OutputMode.Append() : OutputMode.Update();
    return rows.groupBy(columns)
        .as(Encoders.row(key), Encoders.row(schema))
        .transformWithState(new TemporalJoin(event, version, wait, keep, keys, most), TimeMode.EventTime(), output, made);
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
        arrived.computeIfAbsent(leaves, time -> new ArrayList<>())
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
      Known known = known(key);
      for (Row each : waiting.getValue(now).<Row>getList(0)) {
        Row valid = known.validAt(each.getLong(0));
        joined.add(RowFactory.create(each.get(1), valid == null ? null : valid.get(0)));
      }
      waiting.removeKey(now);
    }
    if (keep != null && versions.exists()) {
      drop(known(key), now);
    }
    return CollectionConverters.asScala(joined.iterator());
  }

  /** Stores a version; of several with one time, the last one in the topic counts. */
  private void add(Row row) {
    long at = row.getLong(keys);
    Row given = RowFactory.create(row.get(keys + 2), row.get(keys + 3), row.get(keys + 4));
    if (versions.containsKey(at) && isLater(versions.getValue(at), given)) {
      return;
    }
    versions.updateValue(at, given);
    if (keep != null) {
      getHandle().registerTimer(after(at, keep));
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
    waiting.updateValue(leaves, RowFactory.create(Extensions.seq(all)));
    getHandle().registerTimer(leaves);
  }

  /** Drops the versions whose end is long enough ago, and the end of a version that is dropped. */
  private void drop(Known known, long now) {
    while (known.size() > 0) {
      long first = known.time(0);
      boolean ended = known.size() > 1 && after(known.time(1), keep) <= now;
      if (!ended && !(after(first, keep) <= now && versions.getValue(first).isNullAt(0))) {
        return;
      }
      known.first++;
      versions.removeKey(first);
      held--;
    }
  }

  /** Returns the first millisecond that is so many after a time in microseconds. */
  private static long after(long micros, long millis) {
    return Math.floorDiv(micros, 1000L) + 1 + millis;
  }

  private Known known(Row key) {
    Known found = recent.get(key);
    if (found == null) {
      for (var oldest = recent.values().iterator(); held > most && oldest.hasNext(); oldest.remove()) {
        held -= oldest.next().size();
      }
      found = new Known();
      held += found.size();
      recent.put(key, found);
    }
    return found;
  }

  private void forget(Row key) {
    Known known = recent.remove(key);
    held -= known == null ? 0 : known.size();
  }

  /** The times of a key's versions in their order. The versions themselves are only read where they are needed. */
  private final class Known {
    private final long[] times;
    private int first;
    private int last = -1;
    private Row version;

    Known() {
      LongStream.Builder found = LongStream.builder();
      versions.keys().foreach(found::add);
      times = found.build().sorted().toArray();
    }

    int size() {
      return times.length - first;
    }

    long time(int place) {
      return times[first + place];
    }

    /** Returns the version that is valid at a time, or null. */
    Row validAt(long time) {
      int found = Arrays.binarySearch(times, first, times.length, time);
      int place = found < 0 ? -found - 2 : found;
      if (place < first) {
        return null;
      }
      if (place != last) {
        version = versions.getValue(times[place]);
        last = place;
      }
      return version;
    }
  }
}
