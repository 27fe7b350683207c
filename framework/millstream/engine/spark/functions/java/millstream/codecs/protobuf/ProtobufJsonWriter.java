package millstream.codecs.protobuf;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.math.BigDecimal;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.json.JsonReader;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.sparkproject.spark_core.protobuf.ListValue;
import org.sparkproject.spark_core.protobuf.NullValue;
import org.sparkproject.spark_core.protobuf.Struct;
import org.sparkproject.spark_core.protobuf.Value;

/** Writes a text of JSON as {@code google.protobuf.Struct}, {@code Value} or {@code ListValue}. */
final class ProtobufJsonWriter implements ProtobufWriter {
  /** Each object is three messages within each other, and readers take 100 at most. */
  private static final int DEEPEST = 30;

  private final String message;

  ProtobufJsonWriter(String message) {
    this.message = message;
  }

  @Override
  public void write(ProtobufOutput out, SpecializedGetters from, int index) throws BadValue {
    byte[] text = from.getUTF8String(index).getBytes();
    try (JsonParser parser = Texts.FACTORY.createParser(text)) {
      JsonToken token = parser.nextToken();
      if (token == null) {
        throw new BadValue("the text is empty, which is not JSON");
      }
      Value value = value(parser, token, 0);
      if (parser.nextToken() != null) {
        throw new BadValue("there is more after the JSON value");
      }
      byte[] content = content(value);
      out.bytes(content);
      out.varint(content.length);
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
  }

  private byte[] content(Value value) throws BadValue {
    switch (message) {
      case "google.protobuf.Struct":
        if (!value.hasStructValue()) {
          throw new BadValue("the JSON value is not an object");
        }
        return value.getStructValue().toByteArray();
      case "google.protobuf.ListValue":
        if (!value.hasListValue()) {
          throw new BadValue("the JSON value is not an array");
        }
        return value.getListValue().toByteArray();
      default:
        return value.toByteArray();
    }
  }

  private static Value value(JsonParser parser, JsonToken token, int depth)
      throws IOException, BadValue {
    Value.Builder value = Value.newBuilder();
    if (token.isStructStart() && depth == DEEPEST) {
      throw new BadValue("the JSON value is nested more than " + DEEPEST + " levels deep");
    }
    switch (token) {
      case START_OBJECT:
        return value.setStructValue(object(parser, depth + 1)).build();
      case START_ARRAY:
        return value.setListValue(array(parser, depth + 1)).build();
      case VALUE_STRING:
        Texts.utf8(
            parser.getTextCharacters(),
            parser.getTextOffset(),
            parser.getTextLength()); // refuses half characters
        return value.setStringValue(parser.getText()).build();
      case VALUE_NUMBER_INT:
      case VALUE_NUMBER_FLOAT:
        return value.setNumberValue(number(parser.getText())).build();
      case VALUE_TRUE:
      case VALUE_FALSE:
        return value.setBoolValue(token == JsonToken.VALUE_TRUE).build();
      default:
        return value.setNullValue(NullValue.NULL_VALUE).build();
    }
  }

  private static Struct object(JsonParser parser, int depth) throws IOException, BadValue {
    Struct.Builder object = Struct.newBuilder();
    String name;
    while ((name = parser.nextFieldName()) != null) {
      Texts.utf8(name.toCharArray(), 0, name.length());
      object.putFields(name, value(parser, parser.nextToken(), depth));
    }
    return object.build();
  }

  private static ListValue array(JsonParser parser, int depth) throws IOException, BadValue {
    ListValue.Builder array = ListValue.newBuilder();
    JsonToken token;
    while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
      array.addValues(value(parser, token, depth));
    }
    return array.build();
  }

  /** All numbers are doubles here: one with more digits would change. */
  private static double number(String text) throws BadValue {
    double real = Double.parseDouble(text);
    if (Double.isInfinite(real)
        || text.length() > 400
        || new BigDecimal(Double.toString(real)).compareTo(new BigDecimal(text)) != 0) {
      throw BadValue.of(text, "a double, which is what google.protobuf.Value holds of numbers");
    }
    return real;
  }
}
