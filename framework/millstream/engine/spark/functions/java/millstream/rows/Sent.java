package millstream.rows;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What the headers of a sink's record say: who sent it, with a partition of the input, or the
 * offset there. NULL if the record does not come from a single one.
 *
 * <p>The sender is the query with its checkpoint, from the header of the batch: {@code
 * query/checkpoint/number}. Of headers with the same name, the last one counts.
 */
public final class Sent implements ScalarFunction<Object> {
  private static final UTF8String POSITION = UTF8String.fromString("millstream.position");
  private static final UTF8String BATCH = UTF8String.fromString("millstream.batch");

  private final boolean offset;

  public Sent(boolean offset) {
    this.offset = offset;
  }

  @Override
  public Object produceResult(InternalRow input) {
    ArrayData headers = input.isNullAt(0) ? null : input.getArray(0);
    String position = value(headers, POSITION);
    int end = position.lastIndexOf('-');
    if (end <= 0) {
      return null;
    }
    long number;
    try {
      number = Long.parseLong(position.substring(end + 1));
    } catch (NumberFormatException error) {
      return null;
    }
    if (number < 0) {
      return null;
    }
    String batch = value(headers, BATCH);
    String sender = batch.substring(0, Math.max(0, batch.lastIndexOf('/')));
    return offset
        ? (Object) number
        : UTF8String.fromString(sender + " " + position.substring(0, end));
  }

  private static String value(ArrayData headers, UTF8String name) {
    for (int i = headers == null ? -1 : headers.numElements() - 1; i >= 0; i--) {
      InternalRow header = headers.getStruct(i, 2);
      if (name.equals(header.getUTF8String(0))) {
        return header.isNullAt(1) ? "" : new String(header.getBinary(1), StandardCharsets.UTF_8);
      }
    }
    return "";
  }

  @Override
  public DataType[] inputTypes() {
    StructType header =
        new StructType().add("key", DataTypes.StringType).add("value", DataTypes.BinaryType);
    return new DataType[] {new ArrayType(header, true)};
  }

  @Override
  public DataType resultType() {
    return offset ? DataTypes.LongType : DataTypes.StringType;
  }

  @Override
  public String name() {
    return offset ? "sent_offset" : "sent_from";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Sent && ((Sent) other).offset == offset;
  }

  @Override
  public int hashCode() {
    return Boolean.hashCode(offset);
  }
}
