package millstream.codecs.avro;

import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import org.apache.spark.sql.types.StructType;

/**
 * What decodes a part of a record that Debezium's connectors write in Avro: the value or the key.
 */
abstract class DebeziumAvroFormat implements Decoder.Format {
  private static final long serialVersionUID = 1;
  protected final StructType fields;
  protected final ZoneId zone;
  protected final DebeziumWriters writers;
  private transient DebeziumWriters.Resolved resolved;

  protected DebeziumAvroFormat(StructType fields, ZoneId zone, List<String> settings) {
    this.fields = fields;
    this.zone = zone;
    writers = new DebeziumWriters(settings);
    resolved = resolved(); // fails if a column is not of the schema's type
  }

  /** Returns what reads the part by a writer's schema; it is not serialized. */
  protected abstract DebeziumWriters.Resolved resolved();

  @Override
  public final Object[] decode(byte[] value) throws BadValue {
    if (resolved == null) {
      resolved = resolved();
    }
    return writers.read(value, resolved);
  }

  @Override
  public final boolean equals(Object other) {
    return other instanceof DebeziumAvroFormat that
        && getClass() == that.getClass()
        && fields.equals(that.fields)
        && zone.equals(that.zone)
        && writers.equals(that.writers);
  }

  @Override
  public final int hashCode() {
    return Objects.hash(getClass().getName(), fields, zone, writers);
  }
}
