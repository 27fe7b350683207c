package millstream.codecs;

import java.io.Serializable;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A function of SQL: decodes the bytes of a record to a row. Its last column, {@code _bad}, is
 * NULL, or says which columns can't be decoded, and why.
 */
public final class Decoder implements ScalarFunction<InternalRow> {
  static final String BAD = "_bad";
  private final String name;
  private final StructType fields;
  private final Format format;

  public Decoder(String name, StructType fields, Format format) {
    this.name = name;
    this.fields = fields;
    this.format = format;
  }

  /** How a value is decoded. Equal formats decode equally. */
  public interface Format extends Serializable {
    /**
     * Returns the values of all fields, and the {@link BadColumns} among them, or null; values of
     * these are null. Fails if the record is bad whichever fields are read: whether it fails must
     * not depend on the fields.
     */
    Object[] decode(byte[] value) throws BadValue;

    /** Returns the same for a record without a value. */
    default Object[] ofNothing() throws BadValue {
      throw new BadValue("the record has no value");
    }
  }

  /** Called by generated code, which looks for it in this class alone. */
  public InternalRow invoke(byte[] value) {
    int last = fields.length();
    Object[] row;
    try {
      row = values(format, value);
      if (row[last] != null) {
        row[last] = ((BadColumns) row[last]).entries();
      }
    } catch (BadValue error) {
      row = new Object[last + 1];
      row[last] = BadColumns.ofRecord(error);
    }
    return new GenericInternalRow(row);
  }

  static Object[] values(Format format, byte[] value) throws BadValue {
    return value == null ? format.ofNothing() : format.decode(value);
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
    return nullable(fields);
  }

  /** Returns the type of a row: a bad record has no values. */
  static StructType nullable(StructType fields) {
    StructType type = new StructType();
    for (StructField field : fields.fields()) {
      type = type.add(field.name(), field.dataType(), true);
    }
    return type.add(BAD, new ArrayType(BadColumns.ENTRY, true), true);
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
    return other instanceof Decoder
        && fields.equals(((Decoder) other).fields)
        && format.equals(((Decoder) other).format);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, format);
  }
}
