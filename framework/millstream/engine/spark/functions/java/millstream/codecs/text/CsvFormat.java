package millstream.codecs.text;

import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
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
 * Decodes a line of separated values. An empty field is NULL, and {@code ""} an empty text. Within
 * quotes, a quote is doubled or follows the escape character.
 */
public final class CsvFormat implements Decoder.Format {
  private final StructType fields;
  private final ZoneId zone;
  private final char delimiter;
  private final char quote;
  private final char escape;
  private final boolean header;
  private transient TextReader[] readers;

  /**
   * Options: delimiter, quote and escape, a character each, and {@code true} if the first of two
   * lines has the names.
   */
  public CsvFormat(StructType fields, ZoneId zone, List<String> options) {
    this.fields = fields;
    this.zone = zone;
    this.delimiter = options.get(0).charAt(0);
    this.quote = options.get(1).charAt(0);
    this.escape = options.get(2).charAt(0);
    this.header = Boolean.parseBoolean(options.get(3));
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    String text = Texts.ofUtf8(value);
    // A byte order mark, which spreadsheets write, is not part of the first name.
    Lines lines = new Lines(header && text.startsWith("\uFEFF") ? text.substring(1) : text);
    List<String> names = header ? lines.next() : null;
    List<String> texts = lines.next();
    if (!lines.done()) {
      throw new BadValue("there is more after the line");
    }
    return row(texts, names);
  }

  private Object[] row(List<String> texts, List<String> names) throws BadValue {
    if (readers == null) {
      TextReader[] created = new TextReader[fields.length()];
      for (int i = 0; i < created.length; i++) {
        created[i] = TextReader.of(fields.fields()[i].dataType(), zone);
      }
      readers = created;
    }
    int expected = names == null ? readers.length : names.size();
    if (texts.size() != expected) {
      throw new BadValue("the line has " + count(texts.size()) + " instead of " + expected);
    }
    Map<String, Integer> indexes = names == null ? null : indexes(names);
    Object[] row = new Object[readers.length + 1];
    BadColumns bad = null;
    for (int i = 0; i < readers.length; i++) {
      StructField field = fields.fields()[i];
      Integer index = indexes == null ? Integer.valueOf(i) : indexes.get(field.name());
      String text = index == null ? null : texts.get(index);
      try {
        row[i] = text == null ? null : readers[i].read(text);
        if (text == null && !field.nullable()) {
          throw new BadValue("the value is missing");
        }
      } catch (BadValue error) {
        bad = BadColumns.with(bad, field.name(), error);
      }
    }
    row[readers.length] = bad;
    return row;
  }

  private static Map<String, Integer> indexes(List<String> names) throws BadValue {
    Map<String, Integer> entries = new HashMap<>();
    for (int i = 0; i < names.size(); i++) {
      if (names.get(i) != null && entries.put(names.get(i), i) != null) {
        throw new BadValue("two fields are named " + BadValue.quoted(names.get(i)));
      }
    }
    return entries;
  }

  private static String count(int fields) {
    return fields == 1 ? "1 field" : fields + " fields";
  }

  /** Cuts a text into lines, and lines into fields. */
  private final class Lines {
    private final String text;
    private int position;

    Lines(String text) {
      this.text = text;
    }

    boolean done() {
      return position >= text.length();
    }

    List<String> next() throws BadValue {
      if (done()) {
        throw new BadValue(
            position == 0 ? "the value is empty" : "there is no line after that of the names");
      }
      List<String> elements = new ArrayList<>();
      while (true) {
        elements.add(
            position < text.length() && text.charAt(position) == quote
                ? quotedField(elements.size() + 1)
                : plainField());
        if (position >= text.length()) {
          return elements;
        }
        if (text.charAt(position) == delimiter) {
          position++;
          continue;
        }
        position += text.startsWith("\r\n", position) ? 2 : 1;
        return elements;
      }
    }

    private String plainField() {
      int start = position;
      while (position < text.length()
          && text.charAt(position) != delimiter
          && !isLineEnd(position)) {
        position++;
      }
      return position == start ? null : text.substring(start, position);
    }

    private boolean isLineEnd(int index) {
      return text.charAt(index) == '\n' || text.startsWith("\r\n", index);
    }

    private String quotedField(int number) throws BadValue {
      StringBuilder builder = new StringBuilder();
      position++;
      while (position < text.length()) {
        char c = text.charAt(position);
        char next = position + 1 < text.length() ? text.charAt(position + 1) : '\0';
        if (c == escape && (next == quote || next == escape) || c == quote && next == quote) {
          builder.append(next);
          position += 2;
        } else if (c == quote) {
          position++;
          if (position < text.length()
              && text.charAt(position) != delimiter
              && !isLineEnd(position)) {
            throw new BadValue(
                "field " + number + " of the line: there is more after the closing quote");
          }
          return builder.toString();
        } else {
          builder.append(c);
          position++;
        }
      }
      throw new BadValue("field " + number + " of the line: the closing quote is missing");
    }
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof CsvFormat)) {
      return false;
    }
    CsvFormat that = (CsvFormat) other;
    return fields.equals(that.fields)
        && zone.equals(that.zone)
        && delimiter == that.delimiter
        && quote == that.quote
        && escape == that.escape
        && header == that.header;
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, delimiter, quote, escape, header);
  }
}
