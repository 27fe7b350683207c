package millstream.spark;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.time.ZoneId;
import java.util.Objects;
import org.apache.spark.sql.types.StructType;

/** Decodes JSON objects by RFC 8259: one object, and no value that is not in the text. */
final class JsonFormat implements Decoder.Format {
  private static final JsonFactory FACTORY = factory();
  private final StructType fields;
  private final ZoneId zone;
  private final Framing framing;
  private transient JsonReader.Fields reader;

  JsonFormat(StructType fields, ZoneId zone, Framing framing) {
    this.fields = fields;
    this.zone = zone;
    this.framing = framing;
  }

  private static JsonFactory factory() {
    return new JsonFactoryBuilder()
        .disable(JsonFactory.Feature.CHARSET_DETECTION)
        .streamReadConstraints(
            StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).maxNumberLength(10_000).build())
        .build();
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (reader == null) {
      reader = new JsonReader.Fields(fields, zone);
    }
    int start = framing.start(value);
    try (JsonParser parser = FACTORY.createParser(value, start, value.length - start)) {
      JsonToken token = parser.nextToken();
      if (token != JsonToken.START_OBJECT) {
        throw new BadValue(token == null ? "the value is empty" : "the value is not a JSON object");
      }
      Object[] row = reader.read(parser, 1);
      if (parser.nextToken() != null) {
        throw new BadValue("there is more after the JSON object");
      }
      return row;
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof JsonFormat
        && fields.equals(((JsonFormat) other).fields)
        && zone.equals(((JsonFormat) other).zone)
        && framing == ((JsonFormat) other).framing;
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, framing);
  }
}
