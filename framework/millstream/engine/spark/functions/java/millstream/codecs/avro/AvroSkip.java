package millstream.codecs.avro;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import millstream.codecs.BadValue;
import org.apache.avro.Schema;

/**
 * Skips what a writer's schema describes. Blocks are skipped by element, so that wrong counts are
 * found.
 */
interface AvroSkip {
  void skip(AvroInput in) throws BadValue;

  static AvroSkip of(Schema schema) {
    return of(schema, new IdentityHashMap<>());
  }

  private static AvroSkip of(Schema schema, Map<Schema, Fields> records) {
    switch (schema.getType()) {
      case NULL:
        return in -> {};
      case BOOLEAN:
        return AvroInput::readBoolean;
      case INT:
        return AvroInput::readInt;
      case LONG:
        return AvroInput::readLong;
      case FLOAT:
        return in -> in.skipFixed(4);
      case DOUBLE:
        return in -> in.skipFixed(8);
      case STRING:
      case BYTES:
        return AvroInput::skipBytes;
      case FIXED:
        int size = schema.getFixedSize();
        return in -> in.skipFixed(size);
      case ENUM:
        int symbols = schema.getEnumSymbols().size();
        return in -> in.readIndex(symbols, "a symbol");
      case ARRAY:
        AvroSkip element = of(schema.getElementType(), records);
        return in -> in.readBlocks(index -> element.skip(in));
      case MAP:
        AvroSkip value = of(schema.getValueType(), records);
        return in ->
            in.readBlocks(
                index -> {
                  in.skipBytes();
                  value.skip(in);
                });
      case UNION:
        AvroSkip[] branches =
            schema.getTypes().stream().map(result -> of(result, records)).toArray(AvroSkip[]::new);
        return in -> branches[in.readIndex(branches.length, "a type of the union")].skip(in);
      default:
        return fields(schema, records);
    }
  }

  private static AvroSkip fields(Schema record, Map<Schema, Fields> records) {
    Fields fields = records.get(record);
    if (fields == null) {
      fields = new Fields();
      records.put(record, fields); // before its fields, which may contain the record itself
      for (Schema.Field field : record.getFields()) {
        fields.fields.add(of(field.schema(), records));
      }
    }
    return fields;
  }

  /** The fields of a record. */
  final class Fields implements AvroSkip {
    private final List<AvroSkip> fields = new ArrayList<>();

    @Override
    public void skip(AvroInput in) throws BadValue {
      in.enter();
      for (AvroSkip field : fields) {
        field.skip(in);
      }
      in.leave();
    }
  }
}
