package millstream.codecs.avro;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import millstream.codecs.FixedSchemas;
import millstream.codecs.Framing;
import millstream.codecs.OneSchema;
import millstream.codecs.RegisteredSchemas;
import millstream.codecs.Registry;
import millstream.codecs.Schemas;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Decodes Avro by a reader's schema. A schema that is not a record describes the only column. */
public final class AvroFormat implements Decoder.Format {
  private static final long serialVersionUID = 1;
  private final StructType fields;
  private final String schema;
  private final Framing framing;
  private final Schemas writers;
  private transient Schema reader;
  private transient Map<Integer, Rows> rows;
  private transient boolean[] required;

  AvroFormat(StructType fields, String schema, Framing framing, Schemas writers) {
    this.fields = fields;
    this.schema = schema;
    this.framing = framing;
    this.writers = writers;
    prepare();
    rows(reader); // fails if a column is not of the schema's type
  }

  /**
   * Takes a schema, a framing, and what records were written with: a schema, or schemas by their
   * ids.
   */
  public static AvroFormat of(StructType fields, List<String> settings) {
    Framing framing = Framing.of(settings.get(1));
    String writers = settings.get(2);
    return new AvroFormat(
        fields,
        settings.get(0),
        framing,
        framing == Framing.PLAIN ? new OneSchema(writers) : byId(writers));
  }

  static Schemas byId(String writers) {
    FixedSchemas fixed = new FixedSchemas(writers);
    Registry registry = Registry.current();
    return registry == null ? fixed : new RegisteredSchemas(fixed, registry, "AVRO");
  }

  /** Reads all columns, and the {@link BadColumns} among them, or null. */
  private interface Rows {
    Object[] read(AvroInput in) throws BadValue;
  }

  private void prepare() {
    reader = new Schema.Parser().parse(schema);
    rows = new HashMap<>();
    required = new boolean[fields.length()];
    for (int i = 0; i < required.length; i++) {
      required[i] = !fields.apply(i).nullable();
    }
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (reader == null) {
      prepare();
    }
    int start = framing.start(value);
    int id = framing == Framing.PLAIN ? 0 : Framing.id(value);
    Rows result = rows.get(id);
    if (result == null) {
      result = written(writers.schemaOf(id));
      rows.put(id, result);
    }
    AvroInput in = new AvroInput(value, start);
    Object[] row = result.read(in);
    in.end();
    BadColumns bad = (BadColumns) row[required.length];
    for (int i = 0; i < required.length; i++) {
      if (row[i] == null && required[i]) {
        bad = BadColumns.with(bad, fields.apply(i).name(), new BadValue("the value is missing"));
      }
    }
    row[required.length] = bad;
    return row;
  }

  private Rows written(String writer) {
    Schema parsed;
    try {
      parsed = writer.isEmpty() ? reader : new Schema.Parser().parse(writer);
    } catch (AvroRuntimeException error) {
      return unusable(error.getMessage());
    } catch (
        NullPointerException error) { // what the parser throws for some types that are not defined
      return unusable("it names a type that it does not define");
    }
    try {
      return rows(parsed);
    } catch (AvroRuntimeException error) {
      return unusable(error.getMessage());
    }
  }

  private static Rows unusable(String reason) {
    String why = "the writer's schema is not valid: " + reason;
    return in -> {
      throw new BadValue(why);
    };
  }

  private Rows rows(Schema writer) {
    Resolver.Action action = Resolver.resolve(writer, reader);
    if (reader.getType() == Schema.Type.RECORD) {
      return record(action);
    }
    AvroReader single = AvroReader.of(action, column());
    return in -> new Object[] {single.read(in), null};
  }

  private Rows record(Resolver.Action action) {
    if (action instanceof Resolver.RecordAdjust) {
      AvroTypes.check(reader, fields);
      return new AvroRecord((Resolver.RecordAdjust) action, fields)::values;
    }
    if (action instanceof Resolver.WriterUnion) {
      Rows[] branches =
          Stream.of(((Resolver.WriterUnion) action).actions).map(this::record).toArray(Rows[]::new);
      return in -> branches[in.readIndex(branches.length, "a type of the union")].read(in);
    }
    AvroReader unresolved = AvroReader.of(action, fields);
    return in ->
        Arrays.copyOf(((GenericInternalRow) unresolved.read(in)).values(), fields.length() + 1);
  }

  private DataType column() {
    if (fields.length() != 1) {
      throw new IllegalArgumentException("the schema is not a record: it needs a single column");
    }
    return fields.apply(0).dataType();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AvroFormat
        && fields.equals(((AvroFormat) other).fields)
        && schema.equals(((AvroFormat) other).schema)
        && framing == ((AvroFormat) other).framing
        && writers.equals(((AvroFormat) other).writers);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, schema, framing, writers);
  }
}
