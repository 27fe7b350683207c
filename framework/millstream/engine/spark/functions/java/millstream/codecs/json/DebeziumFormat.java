package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import millstream.codecs.Texts;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes a change of a row as Debezium's connectors write it in JSON, with or without its schema.
 * Columns are those of the row after the change, or of a deleted row before it; fields of the
 * change itself have an underscore before their name. With a column {@code _deleted}, a deleted row
 * has no values.
 */
public final class DebeziumFormat implements Decoder.Format {
  private static final String DELETED = "_deleted";
  private static final String NO_CHANGE = "the record is not a change of Debezium: it has no 'op'";
  private final StructType fields;
  private final ZoneId zone;
  private final String timestamps;
  private final String decimals;
  private transient DebeziumRows rows;
  private transient Map<String, Integer> ofChange;
  private transient JsonReader[] readers;
  private transient int[] ofRow;

  public DebeziumFormat(StructType fields, ZoneId zone, List<String> settings) {
    this.fields = fields;
    this.zone = zone;
    this.timestamps = settings.get(0);
    this.decimals = settings.get(1);
  }

  private void prepare() {
    StructType row = new StructType();
    int[] indexes = new int[fields.length()];
    int count = 0;
    ofChange = new LinkedHashMap<>();
    readers = new JsonReader[fields.length()];
    for (int i = 0; i < fields.length(); i++) {
      StructField field = fields.apply(i);
      if (field.name().startsWith("_") && DebeziumRows.OF_CHANGE.contains(field.name())) {
        ofChange.put(field.name().substring(1), i);
        readers[i] = JsonReader.of(field.dataType(), zone);
      } else if (!field.name().equals(DELETED)) {
        row = row.add(field);
        indexes[count++] = i;
      }
    }
    ofRow = Arrays.copyOf(indexes, count);
    rows = new DebeziumRows(row, zone, timestamps, decimals, false);
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
      Integer index = ofChange.get(name);
      if (index == null) {
        parser.skipChildren();
      } else if (row[index] != null) {
        wrong[index] = new BadValue(JsonReader.TWICE);
        parser.skipChildren();
      } else if (token != JsonToken.VALUE_NULL) {
        read(parser, token, index, row, wrong);
      }
    }
    boolean deleted = isDeleted(op, after != null);
    Object[] columns = deleted ? before(record, hasBefore) : after;
    return assembled(row, columns, wrong, deleted);
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

  /** Returns whether a record deletes its row. */
  private static boolean isDeleted(String op, boolean hasAfter) throws BadValue {
    if (op == null) {
      throw new BadValue(NO_CHANGE);
    }
    switch (op) {
      case "c":
      case "u":
      case "r":
        if (!hasAfter) {
          throw new BadValue("the operation '" + op + "' has no row: 'after' is missing");
        }
        return false;
      case "d":
        if (hasAfter) {
          throw new BadValue("the operation 'd' deletes a row, but there is an 'after'");
        }
        return true;
      case "t":
        throw new BadValue("the table was truncated: the record names no row that it deletes");
      case "m":
        throw new BadValue("it is a message in the database's log, not the change of a row");
      default:
        throw BadValue.of(op, "an operation of Debezium: c, u, r or d").in("op");
    }
  }

  /** Returns the row that is deleted; null if the reader needs none of it. */
  private Object[] before(DebeziumRecord record, boolean hasBefore) throws IOException, BadValue {
    if (Arrays.asList(fields.fieldNames()).contains(DELETED)) {
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

  private Object[] assembled(Object[] row, Object[] columns, BadValue[] wrong, boolean deleted) {
    BadColumns bad = columns == null ? null : (BadColumns) columns[ofRow.length];
    for (int i = 0; columns != null && i < ofRow.length; i++) {
      row[ofRow[i]] = columns[i];
    }
    for (int i = 0; i < fields.length(); i++) {
      StructField field = fields.apply(i);
      if (field.name().equals(DELETED)) {
        row[i] = deleted;
      } else if (readers[i] != null) {
        boolean isMissing = row[i] == null && !field.nullable();
        BadValue why = isMissing ? new BadValue("the value is missing") : null;
        why = wrong[i] == null ? why : wrong[i];
        row[i] = wrong[i] == null ? row[i] : null;
        bad = why == null ? bad : BadColumns.with(bad, field.name(), why);
      }
    }
    row[fields.length()] = bad;
    return row;
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
