package millstream.kafka;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.SparkContext;
import org.apache.spark.util.LongAccumulator;

/**
 * What happens to records that are larger than Kafka accepts: dead letters are cut; others are left
 * out and counted, and a dead letter is sent of them, if that is configured.
 *
 * <p>A producer refuses a record by its size as it is, a topic by its compressed size. Once a
 * record is refused, its transaction can only be aborted, so this is known before it is sent.
 */
public final class RecordSizes implements Serializable {
  private static final String SIZES = "sizes";
  private static final Map<String, RecordSizes> CALLS = new ConcurrentHashMap<>();

  private final HashMap<String, SizeLimit> limits;
  private final HashMap<String, LongAccumulator> leftOut;

  private RecordSizes(HashMap<String, SizeLimit> limits, HashMap<String, LongAccumulator> leftOut) {
    this.limits = limits;
    this.leftOut = leftOut;
  }

  /** Returns what the options of a sink say of sizes, or null if they say nothing. */
  static RecordSizes of(Map<String, String> options) {
    String text = options.get(SIZES);
    if (text == null) {
      return null;
    }
    HashMap<String, SizeLimit> limits = new HashMap<>();
    HashMap<String, LongAccumulator> leftOut = new HashMap<>();
    text.lines()
        .map(line -> SizeLimit.of(line, options))
        .forEach(
            limit -> {
              limits.put(limit.topic(), limit);
              if (limit.fate() != SizeLimit.Fate.CUT) {
                leftOut.put(
                    limit.topic(),
                    SparkContext.getOrCreate().longAccumulator("too large for " + limit.topic()));
              }
            });
    RecordSizes sizes = new RecordSizes(limits, leftOut);
    CALLS.put(options.get(SIZES + ".call"), sizes);
    return sizes;
  }

  /** Returns how many records a call has left out, by topic; once. */
  public static Map<String, Long> leftOut(String call) {
    Map<String, Long> entries = new HashMap<>();
    RecordSizes sizes = CALLS.remove(call);
    if (sizes != null) {
      sizes.leftOut.forEach((topic, count) -> entries.put(topic, count.value()));
    }
    return entries;
  }

  /** Forgets what an earlier command has left in this JVM. */
  public static void forget() {
    CALLS.clear();
  }

  /**
   * Returns what is sent instead of a record, for the records of one task: often the record, or
   * null for none.
   */
  UnaryOperator<ProducerRecord<byte[], byte[]>> fitting() {
    return record -> {
      SizeLimit limit = limits.get(record.topic());
      if (limit == null || limit.accepts(record)) {
        return record;
      }
      if (limit.fate() == SizeLimit.Fate.CUT) {
        return limit.cut(record);
      }
      leftOut.get(limit.topic()).add(1L);
      if (limit.fate() == SizeLimit.Fate.SKIP) {
        return null;
      }
      return limits.get(limit.deadLetters()).cut(limit.deadLetter(record));
    };
  }
}
