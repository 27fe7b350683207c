package millstream.codecs;

import java.util.List;
import java.util.Objects;
import millstream.files.FilePlace;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of SQL: decodes a line of a file, or fails with the file, the number of the line and
 * the reason.
 */
public final class LineDecoder implements ScalarFunction<InternalRow> {
  private final String name;
  private final StructType fields;
  private final Decoder.Format format;

  public LineDecoder(String name, StructType fields, Decoder.Format format) {
    this.name = name;
    this.fields = fields;
    this.format = format;
  }

  /**
   * Called by generated code, which looks for it in this class alone. The value has what a line
   * needs besides itself, such as the header of its file.
   */
  public InternalRow invoke(byte[] value, UTF8String file, byte[] line) {
    Object[] row;
    try {
      row = Decoder.values(format, value);
    } catch (BadValue error) {
      throw failure(file, line, error.getMessage());
    }
    BadColumns bad = (BadColumns) row[fields.length()];
    if (bad != null) {
      throw failure(file, line, bad.reasonOf(List.of(fields.fieldNames())));
    }
    return new GenericInternalRow(row);
  }

  private static RuntimeException failure(UTF8String file, byte[] line, String reason) {
    return Failure.of("bad record: " + FilePlace.of(file.toString(), line) + ": " + reason);
  }

  @Override
  public InternalRow produceResult(InternalRow input) {
    return invoke(input.getBinary(0), input.getUTF8String(1), input.getBinary(2));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BinaryType, DataTypes.StringType, DataTypes.BinaryType};
  }

  @Override
  public DataType resultType() {
    return Decoder.nullable(fields);
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LineDecoder
        && fields.equals(((LineDecoder) other).fields)
        && format.equals(((LineDecoder) other).format);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, format);
  }
}
