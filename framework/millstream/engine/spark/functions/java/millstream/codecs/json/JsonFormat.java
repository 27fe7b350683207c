package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.time.ZoneId;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import millstream.codecs.Framing;
import millstream.codecs.Texts;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes JSON by RFC 8259: one object, and no value that is not in the text. A {@code single}
 * value of any kind is the only column.
 */
public final class JsonFormat implements Decoder.Format {
  static final JsonFactory FACTORY = factory();
  private final StructType fields;
  private final ZoneId zone;
  private final Framing framing;
  private final boolean single;
  private transient JsonReader.Fields reader;
  private transient JsonReader column;

  public JsonFormat(StructType fields, ZoneId zone, Framing framing, boolean single) {
    this.fields = fields;
    this.zone = zone;
    this.framing = framing;
    this.single = single;
  }

  private static JsonFactory factory() {
    return new JsonFactoryBuilder()
        .disable(JsonFactory.Feature.CHARSET_DETECTION)
        .streamReadConstraints(
            StreamReadConstraints.builder()
                .maxStringLength(Integer.MAX_VALUE)
                .maxNumberLength(10_000)
                .build())
        .build();
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (reader == null) {
      reader = new JsonReader.Fields(fields, zone, false);
      column = single ? JsonReader.of(fields.apply(0).dataType(), zone) : null;
    }
    int start = framing.start(value);
    Texts.checkUtf8(value, start);
    try (JsonParser parser = FACTORY.createParser(value, start, value.length - start)) {
      JsonToken token = parser.nextToken();
      if (token == null) {
        throw new BadValue("the value is empty");
      }
      Object[] row = single ? value(parser, token) : object(parser, token);
      if (parser.nextToken() != null) {
        throw new BadValue(
            single ? "there is more after the JSON value" : "there is more after the JSON object");
      }
      return row;
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
  }

  private Object[] object(JsonParser parser, JsonToken token) throws IOException, BadValue {
    if (token != JsonToken.START_OBJECT) {
      throw new BadValue("the value is not a JSON object");
    }
    return reader.record(parser);
  }

  private Object[] value(JsonParser parser, JsonToken token) throws IOException, BadValue {
    if (token != JsonToken.VALUE_NULL) {
      return new Object[] {column.read(parser, token), null};
    }
    if (!fields.apply(0).nullable()) {
      throw new BadValue("the value is null");
    }
    return new Object[2];
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof JsonFormat
        && fields.equals(((JsonFormat) other).fields)
        && zone.equals(((JsonFormat) other).zone)
        && framing == ((JsonFormat) other).framing
        && single == ((JsonFormat) other).single;
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, framing, single);
  }
}
