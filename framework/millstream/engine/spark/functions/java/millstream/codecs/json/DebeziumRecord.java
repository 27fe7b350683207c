package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import millstream.codecs.BadValue;

/**
 * The JSON of a change or a key. Kafka Connect may write its schema before it: {@code {"schema": …,
 * "payload": …}}.
 */
final class DebeziumRecord implements AutoCloseable {
  final byte[] value;
  final JsonParser parser;

  /** The name of the first field, which the parser has read; null without any. */
  final String first;

  private final boolean wrapped;
  private int schemaStart;
  private int schemaEnd;

  DebeziumRecord(byte[] value) throws IOException, BadValue {
    this.value = value;
    JsonParser start = JsonFormat.FACTORY.createParser(value);
    JsonToken token = start.nextToken();
    if (token == null) {
      throw new BadValue("the value is empty");
    }
    if (token != JsonToken.START_OBJECT) {
      throw new BadValue("the value is not a JSON object");
    }
    String name = start.nextFieldName();
    wrapped = "schema".equals(name) && isSchema(start);
    if (!wrapped && "schema".equals(name)) { // a column of this name in a key
      start = JsonFormat.FACTORY.createParser(value);
      start.nextToken();
      name = start.nextFieldName();
    }
    parser = start;
    first = wrapped ? payload() : name;
  }

  private boolean isSchema(JsonParser start) throws IOException {
    JsonToken token = start.nextToken();
    if (token != JsonToken.START_OBJECT) {
      return token == JsonToken.VALUE_NULL;
    }
    schemaStart = (int) start.currentLocation().getByteOffset() - 1;
    start.skipChildren();
    schemaEnd = (int) start.currentLocation().getByteOffset();
    return true;
  }

  private String payload() throws IOException, BadValue {
    if (!"payload".equals(parser.nextFieldName())) {
      throw new BadValue("there is a schema, but no 'payload' after it");
    }
    if (parser.nextToken() != JsonToken.START_OBJECT) {
      throw BadValue.of(parser.getText(), "an object").in("payload");
    }
    return parser.nextFieldName();
  }

  boolean hasSchema() {
    return schemaEnd > 0;
  }

  /** Whether the bytes of the schema are some others. */
  boolean hasSchema(byte[] other) {
    return java.util.Arrays.equals(value, schemaStart, schemaEnd, other, 0, other.length);
  }

  byte[] schema() {
    return java.util.Arrays.copyOfRange(value, schemaStart, schemaEnd);
  }

  /** Checks that nothing follows the object that was read. */
  void end() throws IOException, BadValue {
    JsonToken token = parser.nextToken();
    if (wrapped && token == JsonToken.END_OBJECT) {
      token = parser.nextToken();
    } else if (wrapped) {
      throw new BadValue("there is more after the payload");
    }
    if (token != null) {
      throw new BadValue("there is more after the JSON object");
    }
  }

  @Override
  public void close() throws IOException {
    parser.close();
  }
}
