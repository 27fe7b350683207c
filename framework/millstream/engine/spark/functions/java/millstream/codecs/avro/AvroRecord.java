package millstream.codecs.avro;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Reads the fields of a record in the writer's order, and skips those that are not in the row. */
final class AvroRecord {
  private final String[] names;
  private final AvroReader[] readers;
  private final AvroSkip[] skips;
  private final int[] positions;
  private final Object[] defaults;

  AvroRecord(Resolver.RecordAdjust action, StructType type) {
    List<String> columns = List.of(type.fieldNames());
    int count = action.fieldActions.length;
    names = new String[count];
    readers = new AvroReader[count];
    skips = new AvroSkip[count];
    positions = new int[count];
    defaults = new Object[columns.size()];
    int read = 0;
    for (int i = 0; i < count; i++) {
      Resolver.Action field = action.fieldActions[i];
      Schema.Field written = action.writer.getFields().get(i);
      String name = field.reader == null ? written.name() : action.readerOrder[read++].name();
      names[i] = name;
      positions[i] = field.reader == null ? -1 : columns.indexOf(name);
      skips[i] = AvroSkip.of(written.schema());
      readers[i] = positions[i] < 0 ? skipping(skips[i]) : reader(name, field, type);
    }
    for (int i = 0; i < action.readerOrder.length; i++) {
      Schema.Field field = action.readerOrder[i];
      int index = columns.indexOf(field.name());
      if (index >= 0 && field.hasDefaultValue()) {
        Object value =
            defaultOf(field, type.apply(index).dataType()); // also checked if no record needs it
        defaults[index] = i < action.firstDefault ? null : value;
      }
    }
  }

  private static AvroReader reader(String name, Resolver.Action action, StructType type) {
    try {
      return AvroReader.of(action, type.apply(name).dataType());
    } catch (AvroTypes.Mismatch error) {
      throw error.in(name);
    }
  }

  private static AvroReader skipping(AvroSkip skip) {
    return in -> {
      skip.skip(in);
      return null;
    };
  }

  /**
   * Returns the values of all fields of a whole value, and the {@link BadColumns} among them, or
   * null.
   */
  Object[] values(AvroInput in) throws BadValue {
    Object[] row = Arrays.copyOf(defaults, defaults.length + 1);
    BadColumns bad = null;
    for (int i = 0; i < readers.length; i++) {
      int start = in.position();
      int free = in.free();
      try {
        Object value = readers[i].read(in);
        if (positions[i] >= 0) {
          row[positions[i]] = value;
        }
      } catch (BadValue error) {
        in.reset(start, free);
        if (positions[i] < 0 || !skipped(i, in)) {
          throw error.in(names[i]);
        }
        bad = BadColumns.with(bad, names[i], error);
        row[positions[i]] = null;
      }
    }
    row[defaults.length] = bad;
    return row;
  }

  private boolean skipped(int field, AvroInput in) {
    try {
      skips[field].skip(in);
      return true;
    } catch (BadValue error) {
      return false;
    }
  }

  /** Returns the values of all fields. */
  Object[] read(AvroInput in) throws BadValue {
    Object[] row = defaults.clone();
    for (int i = 0; i < readers.length; i++) {
      try {
        Object value = readers[i].read(in);
        if (positions[i] >= 0) {
          row[positions[i]] = value;
        }
      } catch (BadValue error) {
        throw error.in(names[i]);
      }
    }
    return row;
  }

  /** Returns a default as Spark's value: encoded by Avro, and read like any other. */
  private static Object defaultOf(Schema.Field field, DataType type) {
    try {
      AvroReader reader = AvroReader.of(Resolver.resolve(field.schema(), field.schema()), type);
      return reader.read(new AvroInput(encodedDefault(field), 0));
    } catch (BadValue error) {
      throw new IllegalArgumentException(
          "the default of field " + field.name() + " is not valid: " + error.getMessage());
    }
  }

  /** Returns the bytes of a field's default. */
  static byte[] encodedDefault(Schema.Field field) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    try {
      new GenericDatumWriter<>(field.schema())
          .write(GenericData.get().getDefaultValue(field), encoder);
    } catch (IOException error) {
      throw new IllegalStateException(error); // writing to memory
    }
    return out.toByteArray();
  }
}
