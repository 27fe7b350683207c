package millstream.rows;

import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import millstream.codecs.BadColumns;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of SQL: from {@code _bad} to why a record is bad for what reads some columns; NULL if
 * it is good.
 */
public final class BadReason implements ScalarFunction<UTF8String> {
  private final List<String> columns;
  private final Set<UTF8String> read = new HashSet<>();

  public BadReason(List<String> columns) {
    this.columns = columns;
    columns.forEach(value -> read.add(UTF8String.fromString(value)));
  }

  /** Called by generated code, which looks for it in this class alone. */
  public UTF8String invoke(ArrayData bad) {
    int count = bad == null ? 0 : bad.numElements();
    for (int i = 0; i < count; i++) {
      InternalRow entry = bad.getStruct(i, 2);
      if (entry.isNullAt(0) || read.contains(entry.getUTF8String(0))) {
        return entry.getUTF8String(1);
      }
    }
    return null;
  }

  @Override
  public UTF8String produceResult(InternalRow input) {
    return invoke(input.isNullAt(0) ? null : input.getArray(0));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {new ArrayType(BadColumns.ENTRY, true)};
  }

  @Override
  public DataType resultType() {
    return DataTypes.StringType;
  }

  @Override
  public String name() {
    return "bad_reason";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BadReason && columns.equals(((BadReason) other).columns);
  }

  @Override
  public int hashCode() {
    return Objects.hash(columns);
  }
}
