package millstream.codecs.avro;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Framing;
import millstream.codecs.OneSchema;
import millstream.codecs.Schemas;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;

/** What reads records by the schema that each was written with, and that of the topic. */
final class DebeziumWriters implements Serializable {
  private static final long serialVersionUID = 1;

  /** Reads a value whose two schemas were resolved. */
  interface Reader {
    Object[] read(AvroInput in) throws BadValue;
  }

  /** Returns a reader for an action; throws AvroRuntimeException if there is none. */
  interface Resolved {
    Reader of(Resolver.RecordAdjust action);
  }

  final String schema;
  private final Framing framing;
  private final Schemas writers;
  private transient Schema parsed;
  private transient Map<Integer, Reader> readers;

  /** Takes the settings of a function: a schema, a framing, and those of writers. */
  DebeziumWriters(List<String> settings) {
    schema = settings.get(0);
    framing = Framing.of(settings.get(1));
    String texts = settings.get(2);
    writers =
        new DebeziumSchemas(
            framing == Framing.PLAIN ? new OneSchema(texts) : AvroFormat.byId(texts));
  }

  Schema reader() {
    if (parsed == null) {
      parsed = new Schema.Parser().parse(schema);
      readers = new HashMap<>();
    }
    return parsed;
  }

  Object[] read(byte[] value, Resolved resolved) throws BadValue {
    Schema expected = reader();
    int start = framing.start(value);
    int id = framing == Framing.PLAIN ? 0 : Framing.id(value);
    Reader reader = readers.get(id);
    if (reader == null) {
      reader = written(writers.schemaOf(id), expected, resolved);
      readers.put(id, reader);
    }
    return reader.read(new AvroInput(value, start));
  }

  private static Reader written(String writer, Schema expected, Resolved resolved) {
    try {
      Schema schema = writer.isEmpty() ? expected : new Schema.Parser().parse(writer);
      Resolver.Action action = Resolver.resolve(schema, expected);
      if (action instanceof Resolver.RecordAdjust record) {
        return resolved.of(record);
      }
      return unusable(AvroTypes.why((Resolver.ErrorAction) action));
    } catch (AvroTypes.Mismatch error) {
      throw error;
    } catch (AvroRuntimeException | NullPointerException | ClassCastException error) {
      return unusable("the writer's schema is not valid: " + error.getMessage());
    }
  }

  private static Reader unusable(String why) {
    return in -> {
      throw new BadValue(why);
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DebeziumWriters that
        && schema.equals(that.schema)
        && framing == that.framing
        && writers.equals(that.writers);
  }

  @Override
  public int hashCode() {
    return Objects.hash(schema, framing, writers);
  }
}
