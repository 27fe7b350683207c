package millstream.codecs;

import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A function of SQL: decodes the bytes of a record, or fails with its position and the reason if it
 * is bad for some columns.
 */
public final class RequiredDecoder implements ScalarFunction<InternalRow> {
  private final String name;
  private final StructType fields;
  private final Decoder.Format format;
  private final String topic;
  private final String part;
  private final List<String> columns;

  /**
   * The part of the record that it decodes precedes the reason. Columns that are not listed can be
   * bad.
   */
  public RequiredDecoder(
      String name,
      StructType fields,
      Decoder.Format format,
      String topic,
      String part,
      List<String> columns) {
    this.name = name;
    this.fields = fields;
    this.format = format;
    this.topic = topic;
    this.part = part;
    this.columns = columns;
  }

  /** Called by generated code, which looks for it in this class alone. */
  public InternalRow invoke(byte[] value, int partition, long offset) {
    Object[] row;
    try {
      row = Decoder.values(format, value);
    } catch (BadValue error) {
      throw failure(partition, offset, error.getMessage());
    }
    int last = fields.length();
    if (row[last] != null) {
      String reason = ((BadColumns) row[last]).reasonOf(columns);
      if (reason != null) {
        throw failure(partition, offset, reason);
      }
      row[last] = null;
    }
    return new GenericInternalRow(row);
  }

  private RuntimeException failure(int partition, long offset, String reason) {
    return Failure.of(
        "bad record: topic "
            + topic
            + ", partition "
            + partition
            + ", offset "
            + offset
            + ": "
            + part
            + reason);
  }

  @Override
  public InternalRow produceResult(InternalRow input) {
    return invoke(input.getBinary(0), input.getInt(1), input.getLong(2));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BinaryType, DataTypes.IntegerType, DataTypes.LongType};
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
    return other instanceof RequiredDecoder
        && fields.equals(((RequiredDecoder) other).fields)
        && format.equals(((RequiredDecoder) other).format)
        && topic.equals(((RequiredDecoder) other).topic)
        && part.equals(((RequiredDecoder) other).part)
        && columns.equals(((RequiredDecoder) other).columns);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, format, topic, part, columns);
  }
}
