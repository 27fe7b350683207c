package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;

/**
 * A query with a state, whose tasks make the records of another query from what they read of a
 * topic: of a guest.
 */
public final class Host {
  static final String OPTION = "millstream.host";
  private static final Map<String, Slot> SLOTS = new ConcurrentHashMap<>();

  /** The columns of Spark's source for Kafka; headers are there on request. */
  private static final List<String> COLUMNS =
      List.of(
          "key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers");

  static final int HEADERS = COLUMNS.indexOf("headers");

  private final String topic;
  private final boolean headers;
  private final String name = UUID.randomUUID().toString();
  private final Slot slot = new Slot();

  /**
   * Where a guest's work is between the start of a batch and its tasks, which have copies of it.
   */
  static final class Slot implements Serializable {
    volatile Guest.Work work;
  }

  /** The topic can be read with the headers of records. */
  public Host(String topic, boolean headers) {
    this.topic = topic;
    this.headers = headers;
  }

  /** Returns the place of an open host. */
  static Slot slot(String name) {
    return SLOTS.get(name);
  }

  /** Forgets what an earlier command has left in this JVM. */
  static void forget() {
    SLOTS.clear();
  }

  /** Returns where columns are among those of a topic; null if one is none of them. */
  static int[] positions(List<Attribute> columns) {
    int[] indexes = columns.stream().mapToInt(column -> COLUMNS.indexOf(column.name())).toArray();
    return Arrays.stream(indexes).anyMatch(index -> index < 0) ? null : indexes;
  }

  /** Returns the option by which `HostSource` finds it, as long as it is open. */
  public Map<String, String> open() {
    SLOTS.put(name, slot);
    return Map.of(OPTION, name);
  }

  public void close() {
    SLOTS.remove(name);
  }

  /** Returns whether a batch reads records of its topic. */
  public boolean reads(org.apache.spark.sql.Dataset<Row> batch) {
    return !KafkaReads.of((Dataset<Row>) batch, topic).isEmpty();
  }

  /**
   * Lets the tasks of a batch make the records of a guest, if both read the same; returns whether
   * they will.
   */
  public boolean take(Guest guest, org.apache.spark.sql.Dataset<Row> batch) {
    List<Set<KafkaOffsetRange>> ranges = KafkaReads.of((Dataset<Row>) batch, topic);
    boolean same =
        ranges.size() == 1 && ranges.equals(guest.reads()) && (headers || !guest.needsHeaders());
    slot.work = same ? guest.work() : null;
    return same;
  }

  /** Ends what a batch does for its guest. */
  public void end() {
    slot.work = null;
  }
}
