package millstream.codecs.protobuf;

import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import millstream.codecs.Registry;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;

/**
 * Decodes messages of Protobuf; fields that the schema doesn't know are skipped, as are those that
 * nobody asks for.
 */
public final class ProtobufFormat implements Decoder.Format {
  private final StructType columns;
  private final String descriptorSet;
  private final String message;
  private final String framing;
  private final Registry registry = Registry.current(); // executors get it with the format
  private transient volatile Plan plan;

  public ProtobufFormat(StructType columns, String descriptorSet, String message, String framing) {
    this.columns = columns;
    this.descriptorSet = descriptorSet;
    this.message = message;
    this.framing = framing;
    this.plan = new Plan(); // what doesn't fit the schema fails here, before any record
  }

  private final class Plan {
    private final Descriptor type = ProtobufTypes.message(descriptorSet, message);
    private final ProtobufFraming frame = new ProtobufFraming(framing, type, registry);
    private final ProtobufFields fields = new ProtobufFields(type, columns);
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (plan == null) {
      plan = new Plan();
    }
    return plan.fields.values(new ProtobufInput(value, plan.frame.start(value)));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ProtobufFormat
        && columns.equals(((ProtobufFormat) other).columns)
        && descriptorSet.equals(((ProtobufFormat) other).descriptorSet)
        && message.equals(((ProtobufFormat) other).message)
        && framing.equals(((ProtobufFormat) other).framing);
  }

  @Override
  public int hashCode() {
    return Objects.hash(columns, descriptorSet, message, framing);
  }
}
