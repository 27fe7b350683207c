package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.ChangeColumns;
import millstream.codecs.Decoder;
import millstream.codecs.Texts;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes a change of a row as Debezium's connectors write it in JSON, with or without its schema.
 * Columns are those of the row after the change, or of a deleted row before it.
 */
public final class DebeziumFormat implements Decoder.Format {
  private final StructType fields;
  private final ZoneId zone;
  private final String timestamps;
  private final String decimals;
  private transient DebeziumRows rows;
  private transient ChangeColumns columns;
  private transient JsonReader[] readers;

  public DebeziumFormat(StructType fields, ZoneId zone, List<String> settings) {
    this.fields = fields;
    this.zone = zone;
    this.timestamps = settings.get(0);
    this.decimals = settings.get(1);
  }

  private void prepare() {
    columns = new ChangeColumns(fields);
    readers = new JsonReader[fields.length()];
    for (int i : columns.ofChange.values()) {
      readers[i] = JsonReader.of(fields.apply(i).dataType(), zone);
    }
    rows = new DebeziumRows(columns.row, zone, timestamps, decimals, false);
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (rows == null) {
      prepare();
    }
    Texts.checkUtf8(value, 0);
    try (DebeziumRecord record = new DebeziumRecord(value)) {
      JsonReader.Fields after = rows.of(record, true);
      Object[] row = change(record, after);
      record.end();
      return row;
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
  }

  private Object[] change(DebeziumRecord record, JsonReader.Fields rowReader)
      throws IOException, BadValue {
    JsonParser parser = record.parser;
    Object[] row = new Object[fields.length() + 1];
    BadValue[] wrong = new BadValue[fields.length()];
    Object[] after = null;
    boolean hasBefore = false;
    String op = null;
    for (String name = record.first; name != null; name = parser.nextFieldName()) {
      JsonToken token = parser.nextToken();
      switch (name) {
        case "after":
          if (token == JsonToken.START_OBJECT) {
            if (after != null) {
              throw new BadValue(JsonReader.TWICE).in(name);
            }
            after = rowReader.record(parser);
          } else if (token != JsonToken.VALUE_NULL) {
            throw BadValue.of(parser.getText(), "an object").in(name);
          }
          continue;
        case "before":
          hasBefore = token == JsonToken.START_OBJECT;
          parser.skipChildren();
          continue;
        case "op":
          if (op != null) {
            throw new BadValue(JsonReader.TWICE).in(name);
          }
          op = token == JsonToken.VALUE_NULL ? null : parser.getText();
          break;
        default:
          break;
      }
      Integer index = columns.ofChange.get(name);
      if (index == null) {
        parser.skipChildren();
      } else if (row[index] != null) {
        wrong[index] = new BadValue(JsonReader.TWICE);
        parser.skipChildren();
      } else if (token != JsonToken.VALUE_NULL) {
        read(parser, token, index, row, wrong);
      }
    }
    boolean deleted = ChangeColumns.isDeleted(op, after != null);
    return columns.assembled(row, deleted ? before(record, hasBefore) : after, wrong, deleted);
  }

  /** Reads a field of the change; the rest of a wrong one is skipped. */
  private void read(JsonParser parser, JsonToken token, int index, Object[] row, BadValue[] wrong)
      throws IOException {
    var outer = token.isStructStart() ? parser.getParsingContext().getParent() : null;
    try {
      row[index] = readers[index].read(parser, token);
    } catch (BadValue error) {
      wrong[index] = error;
      while (outer != null && parser.getParsingContext() != outer && parser.nextToken() != null) {
        // the rest of the value
      }
    }
  }

  /** Returns the row that is deleted; null if the reader needs none of it. */
  private Object[] before(DebeziumRecord record, boolean hasBefore) throws IOException, BadValue {
    if (columns.dropsDeleted) {
      return null;
    }
    if (!hasBefore) {
      try (JsonParser parser = JsonFormat.FACTORY.createParser("{}")) {
        parser.nextToken();
        return rows.of(record, true).record(parser);
      }
    }
    try (DebeziumRecord again = new DebeziumRecord(record.value)) {
      for (String name = again.first; !"before".equals(name); name = again.parser.nextFieldName()) {
        again.parser.nextToken();
        again.parser.skipChildren();
      }
      again.parser.nextToken();
      return rows.of(record, true).record(again.parser);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DebeziumFormat
        && fields.equals(((DebeziumFormat) other).fields)
        && zone.equals(((DebeziumFormat) other).zone)
        && timestamps.equals(((DebeziumFormat) other).timestamps)
        && decimals.equals(((DebeziumFormat) other).decimals);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, timestamps, decimals);
  }
}
