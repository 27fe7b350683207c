package millstream.codecs;

import java.io.Serializable;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A function of SQL: encodes a row to the bytes of a record, or fails and names the field. */
public final class Encoder implements ScalarFunction<byte[]> {
  private final String name;
  private final StructType fields;
  private final Format format;

  public Encoder(String name, StructType fields, Format format) {
    this.name = name;
    this.fields = fields;
    this.format = format;
  }

  /** How a row is encoded. Equal formats encode equally. */
  public interface Format extends Serializable {
    byte[] encode(InternalRow row) throws BadValue;
  }

  /** Called by generated code, which looks for it in this class alone. */
  public byte[] invoke(InternalRow row) {
    try {
      return row == null ? null : format.encode(row);
    } catch (BadValue error) {
      throw Failure.of(name + ": " + error.getMessage());
    }
  }

  @Override
  public byte[] produceResult(InternalRow input) {
    return invoke(input.getStruct(0, fields.length()));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {fields};
  }

  @Override
  public DataType resultType() {
    return DataTypes.BinaryType;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Encoder
        && fields.equals(((Encoder) other).fields)
        && format.equals(((Encoder) other).format);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, format);
  }
}
