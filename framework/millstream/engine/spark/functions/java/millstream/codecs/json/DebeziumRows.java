package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.ZoneId;
import java.util.HashMap;
import java.util.Map;
import millstream.codecs.BadValue;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What reads the rows of a topic: by the schema of each record, or by what a project declares. */
final class DebeziumRows {
  private static final String COLUMN =
      "field: string, type: string, name: string, parameters: map<string, string>";
  private static final String FIELDS =
      "array<struct<" + COLUMN + ", items: struct<" + COLUMN + ">>>";

  /** The parts of a schema that say how columns are encoded: those of a key, or of a change. */
  private static final StructType OF_KEY = StructType.fromDDL("fields " + FIELDS);

  private static final StructType OF_VALUE =
      StructType.fromDDL("fields array<struct<field: string, fields: " + FIELDS + ">>");

  private final StructType type;
  private final ZoneId zone;
  private final String timestamps;
  private final String decimals;
  private final boolean closed;
  private byte[] schema = {};
  private JsonReader.Fields bySchema;
  private final JsonReader.Fields byDeclaration;

  /** If {@code closed}, rows have no columns but those of the type. */
  DebeziumRows(StructType type, ZoneId zone, String timestamps, String decimals, boolean closed) {
    this.type = type;
    this.zone = zone;
    this.timestamps = timestamps;
    this.decimals = decimals;
    this.closed = closed;
    byDeclaration = fields(Map.of(), false);
  }

  /** Returns what reads the rows of a record. */
  JsonReader.Fields of(DebeziumRecord record, boolean isChange) throws IOException, BadValue {
    if (!record.hasSchema()) {
      return byDeclaration;
    }
    if (bySchema == null || !record.hasSchema(schema)) { // nearly all records have the same
      bySchema = fields(encodings(record.schema(), isChange), true);
      schema = record.schema();
    }
    return bySchema;
  }

  private JsonReader.Fields fields(Map<String, DebeziumEncoding> encodings, boolean bySchema) {
    JsonReader[] readers = new JsonReader[type.length()];
    for (int i = 0; i < readers.length; i++) {
      StructField field = type.apply(i);
      DebeziumEncoding encoding =
          bySchema
              ? encodings.getOrDefault(field.name(), DebeziumEncoding.PLAIN)
              : DebeziumEncoding.declared(field.dataType(), timestamps, decimals);
      readers[i] = encoding.reader(field.dataType(), zone);
    }
    return new JsonReader.Fields(type, readers, closed);
  }

  private static Map<String, DebeziumEncoding> encodings(byte[] schema, boolean isChange)
      throws IOException, BadValue {
    Map<String, DebeziumEncoding> encodings = new HashMap<>();
    try (JsonParser parser = JsonFormat.FACTORY.createParser(schema)) {
      JsonToken token = parser.nextToken();
      InternalRow read =
          (InternalRow)
              JsonReader.of(isChange ? OF_VALUE : OF_KEY, ZoneId.of("UTC")).read(parser, token);
      ArrayData columns = read.getArray(0);
      if (isChange) {
        ArrayData parts = columns;
        columns = null;
        for (int i = 0; parts != null && i < parts.numElements(); i++) {
          InternalRow part = parts.getStruct(i, 2);
          if (!part.isNullAt(0) && part.getUTF8String(0).toString().equals("after")) {
            columns = part.getArray(1);
          }
        }
      }
      for (int i = 0; columns != null && i < columns.numElements(); i++) {
        InternalRow column = columns.getStruct(i, 5);
        encodings.put(text(column, 0), encoding(column));
      }
      return encodings;
    } catch (BadValue error) {
      throw error.in("schema");
    }
  }

  private static DebeziumEncoding encoding(InternalRow column) throws BadValue {
    int scale = 0;
    MapData parameters = column.isNullAt(3) ? null : column.getMap(3);
    for (int i = 0; parameters != null && i < parameters.numElements(); i++) {
      if (parameters.keyArray().getUTF8String(i).toString().equals("scale")) {
        String text = parameters.valueArray().getUTF8String(i).toString();
        try {
          scale = Integer.parseInt(text);
        } catch (NumberFormatException error) {
          throw BadValue.of(text, "a scale").in(text(column, 0));
        }
      }
    }
    DebeziumEncoding items =
        column.numFields() > 4 && !column.isNullAt(4) ? encoding(column.getStruct(4, 4)) : null;
    return DebeziumEncoding.of(text(column, 2), text(column, 1), scale, items);
  }

  private static String text(InternalRow row, int index) {
    return row.isNullAt(index) ? "" : row.getUTF8String(index).toString();
  }
}
