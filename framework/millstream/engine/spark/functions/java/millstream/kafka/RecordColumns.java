package millstream.kafka;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;

/** Where the parts of a record are in a row; -1 if the row has no such column. */
public record RecordColumns(int topic, int key, int value, int headers, int timestamp)
    implements Serializable {
  private static final long MICROS = 1000;

  public static RecordColumns of(StructType schema) {
    return of(schema, IntStream.range(0, schema.length()).toArray());
  }

  /** The columns are at some places of a row. */
  public static RecordColumns of(StructType schema, int[] positions) {
    List<String> names = Arrays.asList(schema.fieldNames());
    IntUnaryOperator ordinal = index -> index < 0 ? index : positions[index];
    int[] indexes =
        Stream.of("topic", "key", "value", "headers", "timestamp")
            .mapToInt(names::indexOf)
            .map(ordinal)
            .toArray();
    return new RecordColumns(indexes[0], indexes[1], indexes[2], indexes[3], indexes[4]);
  }

  byte[] key(InternalRow row) {
    return row.isNullAt(key) ? null : row.getBinary(key);
  }

  byte[] value(InternalRow row) {
    return row.isNullAt(value) ? null : row.getBinary(value);
  }

  /**
   * Returns milliseconds, or null for the time of sending: Kafka has no times before 1970, and -1
   * for none.
   */
  Long time(InternalRow row) {
    if (timestamp < 0 || row.isNullAt(timestamp)) {
      return null;
    }
    long micros = row.getLong(timestamp);
    return micros < 0 ? null : micros / MICROS;
  }

  ArrayData headers(InternalRow row) {
    return headers < 0 || row.isNullAt(headers) ? null : row.getArray(headers);
  }
}
