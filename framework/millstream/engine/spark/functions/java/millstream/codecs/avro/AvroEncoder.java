package millstream.codecs.avro;

import java.util.List;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Encoder;
import millstream.codecs.Framing;
import millstream.codecs.Registry;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Encodes rows as Avro by a schema. A schema that is not a record describes the only column. */
public final class AvroEncoder implements Encoder.Format {
  private static final long serialVersionUID = 1;
  private final StructType fields;
  private final String schema;
  private final Framing framing;
  private final int id;
  private transient AvroWriter writer;
  private transient AvroOutput out;

  private AvroEncoder(StructType fields, String schema, Framing framing, int id) {
    this.fields = fields;
    this.schema = schema;
    this.framing = framing;
    this.id = id;
    prepare(); // fails if the schema does not fit the columns
  }

  /** Takes a schema, a framing, and the subject whose id precedes values if the framing has one. */
  public static AvroEncoder of(StructType fields, List<String> settings) {
    Framing framing = Framing.of(settings.get(1));
    int id = framing == Framing.PLAIN ? 0 : Registry.writtenId(settings.get(2));
    return new AvroEncoder(fields, settings.get(0), framing, id);
  }

  private void prepare() {
    Schema parsed = new Schema.Parser().parse(schema);
    if (parsed.getType() == Schema.Type.RECORD) {
      AvroWriter.Fields record = new AvroWriter.Fields(parsed, fields);
      writer = (row, index, to) -> record.writeAll((InternalRow) row, to);
    } else if (fields.length() == 1) {
      writer = AvroWriter.of(parsed, fields.apply(0).dataType());
    } else {
      throw new IllegalArgumentException("the schema is not a record: it needs a single column");
    }
    out = new AvroOutput();
  }

  @Override
  public byte[] encode(InternalRow row) throws BadValue {
    if (writer == null) {
      prepare();
    }
    out.clear();
    out.writeFixed(framing.header(id));
    writer.write(row, 0, out);
    return out.written();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AvroEncoder
        && fields.equals(((AvroEncoder) other).fields)
        && schema.equals(((AvroEncoder) other).schema)
        && framing == ((AvroEncoder) other).framing
        && id == ((AvroEncoder) other).id;
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, schema, framing, id);
  }
}
