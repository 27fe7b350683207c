package millstream.codecs.avro;

import java.time.ZoneId;
import java.util.List;
import millstream.codecs.BadValue;
import millstream.codecs.ChangeColumns;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes a change of a row as Debezium's connectors write it in Avro. Columns are those of the row
 * after the change, or of a deleted row before it.
 */
public final class DebeziumAvro extends DebeziumAvroFormat {
  private static final long serialVersionUID = 1;
  private transient ChangeColumns columns;
  private transient DebeziumValues values;

  public DebeziumAvro(StructType fields, ZoneId zone, List<String> settings) {
    super(fields, zone, settings);
  }

  @Override
  protected DebeziumWriters.Resolved resolved() {
    columns = new ChangeColumns(fields);
    Schema envelope = writers.reader();
    Schema row = DebeziumValues.withoutNull(envelope.getField("after").schema());
    values = new DebeziumValues(row, columns.row, zone);
    return Envelope::new;
  }

  /** Reads the fields of a change in the writer's order. */
  private final class Envelope implements DebeziumWriters.Reader {
    private final String[] names;
    private final AvroSkip[] skips;
    private final AvroReader[] readers;
    private DebeziumValues.Rows before = in -> null;
    private DebeziumValues.Rows after = in -> null;

    Envelope(Resolver.RecordAdjust action) {
      int count = action.fieldActions.length;
      names = new String[count];
      skips = new AvroSkip[count];
      readers = new AvroReader[count];
      for (int i = 0; i < count; i++) {
        Schema.Field written = action.writer.getFields().get(i);
        Resolver.Action field = action.fieldActions[i];
        names[i] = field.reader == null ? "" : written.name();
        skips[i] = AvroSkip.of(written.schema());
        switch (names[i]) {
          case "before" -> before = values.rows(field);
          case "after" -> after = values.rows(field);
          case "op" -> readers[i] = AvroReader.of(field, DataTypes.StringType);
          default -> {
            if (columns.ofChange.containsKey(names[i])) {
              readers[i] = ofChange(field, fields.apply(columns.ofChange.get(names[i])).dataType());
            }
          }
        }
      }
    }

    @Override
    public Object[] read(AvroInput in) throws BadValue {
      Object[] result = new Object[fields.length() + 1];
      Object[] row = null;
      Object op = null;
      int start = -1;
      int free = 0;
      for (int i = 0; i < names.length; i++) {
        try {
          if (names[i].equals("before")) {
            start = in.position();
            free = in.free();
            skips[i].skip(in);
          } else if (names[i].equals("after")) {
            row = after.read(in);
          } else if (readers[i] == null) {
            skips[i].skip(in);
          } else {
            Object value = readers[i].read(in);
            op = names[i].equals("op") ? value : op;
            Integer index = columns.ofChange.get(names[i]);
            if (index != null) {
              result[index] = value;
            }
          }
        } catch (BadValue error) {
          throw names[i].equals("after") ? error : error.in(names[i]);
        }
      }
      in.end();
      boolean deleted = ChangeColumns.isDeleted(op == null ? null : op.toString(), row != null);
      if (deleted && !columns.dropsDeleted) {
        if (start >= 0) {
          in.reset(start, free);
          row = before.read(in);
        }
        row = row == null ? values.missing() : row;
      }
      return columns.assembled(result, row, new BadValue[fields.length()], deleted);
    }
  }

  /**
   * Returns a reader of a number, a text, or a struct of these. A connector may write other fields,
   * and other types of numbers.
   */
  private static AvroReader ofChange(Resolver.Action action, DataType type) {
    Schema schema = DebeziumValues.withoutNull(action.reader);
    StructType written = written(schema, type);
    if (written == null) {
      DataType plain = simple(schema);
      AvroReader reader = AvroReader.of(action, plain);
      return in -> converted(reader.read(in), type);
    }
    AvroReader reader = AvroReader.of(action, written);
    StructType struct = (StructType) type;
    return in -> {
      InternalRow read = (InternalRow) reader.read(in);
      if (read == null) {
        return null;
      }
      Object[] row = new Object[struct.length()];
      for (int i = 0; i < written.length(); i++) {
        int index = struct.fieldIndex(written.apply(i).name());
        Object value = read.get(i, written.apply(i).dataType());
        row[index] = converted(value, struct.apply(index).dataType());
      }
      return new GenericInternalRow(row);
    };
  }

  /** Returns those fields of a struct that a connector writes; null for what is no struct. */
  private static StructType written(Schema schema, DataType type) {
    if (!(type instanceof StructType struct)) {
      return null;
    }
    StructType written = new StructType();
    for (StructField field : struct.fields()) {
      Schema.Field part = schema.getField(field.name());
      if (part != null && simple(DebeziumValues.withoutNull(part.schema())) != null) {
        written = written.add(field.name(), simple(DebeziumValues.withoutNull(part.schema())));
      }
    }
    return written;
  }

  private static DataType simple(Schema schema) {
    return switch (schema.getType()) {
      case STRING, ENUM -> DataTypes.StringType;
      case INT -> DataTypes.IntegerType;
      case LONG -> DataTypes.LongType;
      case BOOLEAN -> DataTypes.BooleanType;
      default -> null;
    };
  }

  private static Object converted(Object value, DataType type) {
    if (value == null) {
      return null;
    }
    return type instanceof StringType
        ? UTF8String.fromString(value.toString())
        : ((Number) value).longValue();
  }
}
