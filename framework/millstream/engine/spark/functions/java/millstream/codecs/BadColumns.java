package millstream.codecs;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The columns of a record whose values can't be decoded, in the order in which they were found,
 * each with its reason.
 */
public final class BadColumns {
  /**
   * The type of {@code _bad}. The column of an entry is NULL if the whole record can't be decoded.
   */
  public static final StructType ENTRY =
      new StructType()
          .add("column", DataTypes.StringType, true)
          .add("reason", DataTypes.StringType, true);

  private final Map<String, String> reasons = new LinkedHashMap<>();

  /** Adds a column; {@code found} is null before the first. The first reason of a column counts. */
  public static BadColumns with(BadColumns badColumns, String column, BadValue why) {
    BadColumns bad = badColumns == null ? new BadColumns() : badColumns;
    bad.reasons.putIfAbsent(column, why.in(column).getMessage());
    return bad;
  }

  public static boolean has(BadColumns badColumns, String column) {
    return badColumns != null && badColumns.reasons.containsKey(column);
  }

  /** Returns the reason of the first of some columns; null if all of them are good. */
  String reasonOf(Collection<String> columns) {
    for (Map.Entry<String, String> entry : reasons.entrySet()) {
      if (columns.contains(entry.getKey())) {
        return entry.getValue();
      }
    }
    return null;
  }

  ArrayData entries() {
    Object[] values = new Object[reasons.size()];
    int i = 0;
    for (Map.Entry<String, String> pair : reasons.entrySet()) {
      values[i++] = entry(UTF8String.fromString(pair.getKey()), pair.getValue());
    }
    return new GenericArrayData(values);
  }

  /** Returns the entries of a record that can't be decoded at all. */
  static ArrayData ofRecord(BadValue why) {
    return new GenericArrayData(new Object[] {entry(null, why.getMessage())});
  }

  private static GenericInternalRow entry(UTF8String column, String reason) {
    return new GenericInternalRow(new Object[] {column, UTF8String.fromString(reason)});
  }
}
