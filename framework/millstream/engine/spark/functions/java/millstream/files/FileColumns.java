package millstream.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Objects;
import millstream.codecs.Failure;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of SQL that fails if a file lacks a column, which Spark would read as NULL, or has one
 * whose values Spark would change; it is true otherwise.
 */
public final class FileColumns implements ScalarFunction<Boolean> {
  private final String format;
  private final StructType fields;
  private transient volatile UTF8String last;

  public FileColumns(String format, StructType fields) {
    this.format = format;
    this.fields = fields;
  }

  /** Called by generated code, which looks for it in this class alone. */
  public boolean invoke(UTF8String file) {
    if (!file.equals(last)) {
      check(file.toString());
      last = file.copy();
    }
    return true;
  }

  private void check(String file) {
    String mismatch;
    try {
      mismatch =
          format.equals("avro")
              ? AvroColumns.mismatch(file, fields)
              : ParquetColumns.mismatch(file, fields);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    if (mismatch != null) {
      throw Failure.of("bad file: " + FileLines.shown(file) + ": " + mismatch);
    }
  }

  @Override
  public Boolean produceResult(InternalRow input) {
    return invoke(input.getUTF8String(0));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  /**
   * Deterministic conditions of a file's address are evaluated by the driver, for all files, and
   * others are moved below them, where a missing column is NULL.
   */
  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public String name() {
    return "has_file_columns";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FileColumns
        && format.equals(((FileColumns) other).format)
        && fields.equals(((FileColumns) other).fields);
  }

  @Override
  public int hashCode() {
    return Objects.hash(format, fields);
  }
}
