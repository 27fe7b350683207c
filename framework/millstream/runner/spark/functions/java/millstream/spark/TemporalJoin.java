package millstream.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
import scala.collection.immutable.List$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins events with the version of their key that was valid at their time.
 *
 * <p>The rows are both: events have `event`, versions have `version`, which is null if the version before it ends.
 * An event waits until the watermark is `wait` after its time. A version is dropped when the watermark is `keep` after
 * its end; timers come in the order of their times, so no waiting event needs it by then.
 */
public final class TemporalJoin extends StatefulProcessor<Row, Row, Row> {
  /** How many versions are held in memory, besides those of the last key. */
  private static final int MOST = 10_000;

  private final Encoder<Row> ofVersions;
  private final Encoder<Row> ofWaiting;
  private final long wait;
  private final Long keep;
  private final int keys;
  private transient MapState<Long, Row> versions;
  private transient MapState<Long, Row> waiting;
  private transient Map<Row, TreeMap<Long, Row>> recent;
  private transient int held;

  private TemporalJoin(StructType event, StructType version, long wait, Long keep, int keys) {
    ofVersions = Encoders.row(new StructType().add("version", version).add("partition", DataTypes.IntegerType)
        .add("offset", DataTypes.LongType));
    StructType timed = new StructType().add("at", DataTypes.LongType).add("event", event);
    ofWaiting = Encoders.row(new StructType().add("events", DataTypes.createArrayType(timed)));
    this.wait = wait;
    this.keep = keep;
    this.keys = keys;
  }

  /**
   * Returns the columns `event` and `version` of joined rows; `version` is null if none was valid.
   *
   * <p>The columns are keys, then `at` in microseconds, `event`, `version`, `partition`, `offset`. Without `keep`, in
   * milliseconds like `wait`, all versions are kept.
   */
  public static Dataset<Row> of(Dataset<Row> rows, int keys, long wait, Long keep, String mode) {
    // The settings of the session decide which classes of Java stand for dates: all encoders need the same ones.
    return ((SparkSession) rows.sparkSession()).withActive(() -> joined(rows, keys, wait, keep, mode));
  }

  private static Dataset<Row> joined(Dataset<Row> rows, int keys, long wait, Long keep, String mode) {
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
        .transformWithState(new TemporalJoin(event, version, wait, keep, keys), TimeMode.EventTime(), output, made);
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
      TreeMap<Long, Row> known = known(key);
      for (Row each : waiting.getValue(now).<Row>getList(0)) {
        Map.Entry<Long, Row> valid = known.floorEntry(each.getLong(0));
        joined.add(RowFactory.create(each.get(1), valid == null ? null : valid.getValue().get(0)));
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
    waiting.updateValue(leaves, RowFactory.create(List$.MODULE$.from(CollectionConverters.asScala(all))));
    getHandle().registerTimer(leaves);
  }

  /** Drops the versions whose end is long enough ago, and the end of a version that is dropped. */
  private void drop(TreeMap<Long, Row> known, long now) {
    while (!known.isEmpty()) {
      long first = known.firstKey();
      Long end = known.higherKey(first);
      boolean ended = end != null && after(end, keep) <= now;
      boolean isEnd = known.get(first).isNullAt(0) && after(first, keep) <= now;
      if (!ended && !isEnd) {
        return;
      }
      known.remove(first);
      versions.removeKey(first);
      held--;
    }
  }

  /** Returns the first millisecond that is so many after a time in microseconds. */
  private static long after(long micros, long millis) {
    return Math.floorDiv(micros, 1000L) + 1 + millis;
  }

  private TreeMap<Long, Row> known(Row key) {
    TreeMap<Long, Row> found = recent.get(key);
    if (found == null) {
      TreeMap<Long, Row> read = new TreeMap<>();
      versions.iterator().foreach(entry -> read.put(entry._1(), entry._2()));
      for (var oldest = recent.values().iterator(); held > MOST && oldest.hasNext(); oldest.remove()) {
        held -= oldest.next().size();
      }
      held += read.size();
      recent.put(key, read);
      found = read;
    }
    return found;
  }

  private void forget(Row key) {
    TreeMap<Long, Row> known = recent.remove(key);
    held -= known == null ? 0 : known.size();
  }
}
