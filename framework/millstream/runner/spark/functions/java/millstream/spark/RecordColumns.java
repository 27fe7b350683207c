package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;

/** Where the parts of a record are in a row; -1 if the row has no such column. */
record RecordColumns(int topic, int key, int value, int headers, int timestamp) implements Serializable {
  private static final long MICROS = 1000;

  static RecordColumns of(StructType schema) {
    List<String> names = Arrays.asList(schema.fieldNames());
    return new RecordColumns(names.indexOf("topic"), names.indexOf("key"), names.indexOf("value"),
        names.indexOf("headers"), names.indexOf("timestamp"));
  }

  byte[] key(InternalRow row) {
    return row.isNullAt(key) ? null : row.getBinary(key);
  }

  byte[] value(InternalRow row) {
    return row.isNullAt(value) ? null : row.getBinary(value);
  }

  /** Returns milliseconds, or null for the time of sending. */
  Long time(InternalRow row) {
    return timestamp < 0 || row.isNullAt(timestamp) ? null : Math.floorDiv(row.getLong(timestamp), MICROS);
  }

  ArrayData headers(InternalRow row) {
    return headers < 0 || row.isNullAt(headers) ? null : row.getArray(headers);
  }
}
