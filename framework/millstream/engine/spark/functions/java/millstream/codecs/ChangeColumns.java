package millstream.codecs;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The columns that are read from a change of a row, as Debezium describes it: those of the row, and
 * fields of the change itself, with an underscore before their name. With a column {@code
 * _deleted}, a deleted row has no values.
 */
public final class ChangeColumns {
  private static final String DELETED = "_deleted";
  private static final Set<String> OF_CHANGE =
      Set.of("_op", "_ts_ms", "_ts_us", "_ts_ns", "_source", "_transaction");
  private static final String UNAVAILABLE = "__debezium_unavailable_value";
  private static final UTF8String UNAVAILABLE_TEXT = UTF8String.fromString(UNAVAILABLE);
  private static final byte[] UNAVAILABLE_BYTES = UNAVAILABLE.getBytes(StandardCharsets.UTF_8);

  /** The columns of the row. */
  public final StructType row;

  /** Where fields of the change go, by the name that they have there. */
  public final Map<String, Integer> ofChange = new LinkedHashMap<>();

  /** Whether nothing is read of a deleted row. */
  public final boolean dropsDeleted;

  private final StructType fields;
  private final int[] ofRow;

  public ChangeColumns(StructType fields) {
    this.fields = fields;
    StructType columns = new StructType();
    int[] indexes = new int[fields.length()];
    for (int i = 0; i < fields.length(); i++) {
      StructField field = fields.apply(i);
      if (OF_CHANGE.contains(field.name())) {
        ofChange.put(field.name().substring(1), i);
      } else if (!field.name().equals(DELETED)) {
        indexes[columns.length()] = i;
        columns = columns.add(field);
      }
    }
    row = columns;
    ofRow = Arrays.copyOf(indexes, columns.length());
    dropsDeleted = Arrays.asList(fields.fieldNames()).contains(DELETED);
  }

  /** Returns whether a change deletes its row. */
  public static boolean isDeleted(String op, boolean hasAfter) throws BadValue {
    if (op == null) {
      throw new BadValue("the record is not a change of Debezium: it has no 'op'");
    }
    switch (op) {
      case "c":
      case "u":
      case "r":
        if (!hasAfter) {
          throw new BadValue("the operation '" + op + "' has no row: 'after' is missing");
        }
        return false;
      case "d":
        if (hasAfter) {
          throw new BadValue("the operation 'd' deletes a row, but there is an 'after'");
        }
        return true;
      case "t":
        throw new BadValue("the table was truncated: the record names no row that it deletes");
      case "m":
        throw new BadValue("it is a message in the database's log, not the change of a row");
      default:
        throw BadValue.of(op, "an operation of Debezium: c, u, r or d").in("op");
    }
  }

  /** Returns a text or bytes, unless they stand for a value that the connector did not get. */
  public static Object available(Object value) throws BadValue {
    if (UNAVAILABLE_TEXT.equals(value)
        || (value instanceof byte[] bytes && Arrays.equals(bytes, UNAVAILABLE_BYTES))) {
      throw new BadValue("the database's log lacks the value, which did not change");
    }
    return value;
  }

  /**
   * Completes a row that has the fields of the change.
   *
   * @param columns those of the row, and what is wrong with them; null if none are read
   * @param wrong what is wrong with fields of the change
   */
  public Object[] assembled(Object[] result, Object[] columns, BadValue[] wrong, boolean deleted) {
    BadColumns bad = columns == null ? null : (BadColumns) columns[ofRow.length];
    for (int i = 0; columns != null && i < ofRow.length; i++) {
      result[ofRow[i]] = columns[i];
    }
    for (int i : ofChange.values()) {
      StructField field = fields.apply(i);
      boolean isMissing = result[i] == null && !field.nullable();
      BadValue why = isMissing ? new BadValue("the value is missing") : null;
      why = wrong[i] == null ? why : wrong[i];
      result[i] = wrong[i] == null ? result[i] : null;
      bad = why == null ? bad : BadColumns.with(bad, field.name(), why);
    }
    if (dropsDeleted) {
      result[fields.fieldIndex(DELETED)] = deleted;
    }
    result[fields.length()] = bad;
    return result;
  }
}
