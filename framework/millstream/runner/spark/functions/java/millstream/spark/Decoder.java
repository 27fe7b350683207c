package millstream.spark;

import java.io.Serializable;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of SQL: decodes the bytes of a record to a row whose last column, {@code _bad}, says why that is impossible. */
public final class Decoder implements ScalarFunction<InternalRow> {
  static final String BAD = "_bad";
  private final String name;
  private final StructType fields;
  private final Format format;

  Decoder(String name, StructType fields, Format format) {
    this.name = name;
    this.fields = fields;
    this.format = format;
  }

  /** How a value is decoded. Equal formats decode equally. */
  interface Format extends Serializable {
    /** Returns the values of all fields, and one place more. */
    Object[] decode(byte[] value) throws BadValue;

    /** Returns the same for a record without a value. */
    default Object[] ofNothing() throws BadValue {
      throw new BadValue("the record has no value");
    }
  }

  /** Called by generated code, which looks for it in this class alone. */
  public InternalRow invoke(byte[] value) {
    try {
      return row(format, value);
    } catch (BadValue error) {
      Object[] row = new Object[fields.length() + 1];
      row[fields.length()] = UTF8String.fromString(error.getMessage());
      return new GenericInternalRow(row);
    }
  }

  static InternalRow row(Format format, byte[] value) throws BadValue {
    return new GenericInternalRow(value == null ? format.ofNothing() : format.decode(value));
  }

  @Override
  public InternalRow produceResult(InternalRow input) {
    return invoke(input.getBinary(0));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BinaryType};
  }

  @Override
  public DataType resultType() {
    return nullable(fields).add(BAD, DataTypes.StringType, true);
  }

  /** The row of a bad record has no values. */
  static StructType nullable(StructType fields) {
    StructType found = new StructType();
    for (StructField field : fields.fields()) {
      found = found.add(field.name(), field.dataType(), true);
    }
    return found;
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
    return other instanceof Decoder && fields.equals(((Decoder) other).fields) && format.equals(((Decoder) other).format);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, format);
  }
}
