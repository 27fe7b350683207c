package millstream.codecs.protobuf;

import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Encoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;

/** Encodes rows as messages of Protobuf. Decoding what it wrote returns the same row. */
public final class ProtobufEncoding implements Encoder.Format {
  private static final int EXPECTED = 256;
  private final StructType columns;
  private final String descriptorSet;
  private final String message;
  private final String framing;
  private final int id;
  private transient volatile Plan plan;

  public ProtobufEncoding(
      StructType columns, String descriptorSet, String message, String framing, int id) {
    this.columns = columns;
    this.descriptorSet = descriptorSet;
    this.message = message;
    this.framing = framing;
    this.id = id;
    this.plan = new Plan(); // what doesn't fit the schema fails here, before any row
  }

  private final class Plan {
    private final Descriptor type = ProtobufTypes.message(descriptorSet, message);
    private final byte[] prefix = new ProtobufFraming(framing, type, null).prefix(id);
    private final ProtobufRows rows = new ProtobufRows(type, columns);
  }

  @Override
  public byte[] encode(InternalRow row) throws BadValue {
    if (plan == null) {
      plan = new Plan();
    }
    ProtobufOutput out = new ProtobufOutput(EXPECTED);
    plan.rows.write(out, row);
    out.bytes(plan.prefix);
    return out.content();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ProtobufEncoding
        && columns.equals(((ProtobufEncoding) other).columns)
        && descriptorSet.equals(((ProtobufEncoding) other).descriptorSet)
        && message.equals(((ProtobufEncoding) other).message)
        && framing.equals(((ProtobufEncoding) other).framing)
        && id == ((ProtobufEncoding) other).id;
  }

  @Override
  public int hashCode() {
    return Objects.hash(columns, descriptorSet, message, framing, id);
  }
}
