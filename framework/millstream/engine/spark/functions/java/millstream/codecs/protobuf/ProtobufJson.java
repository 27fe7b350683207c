package millstream.codecs.protobuf;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.json.JsonReader;
import millstream.codecs.json.JsonTexts;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads {@code google.protobuf.Struct}, {@code Value} and {@code ListValue} as the JSON that they
 * stand for. The state of a value is a map, a list, a text, a number, a boolean or {@link #NULL};
 * {@link #NONE} if it has none of them.
 */
final class ProtobufJson implements ProtobufReader {
  private static final String STRUCT = "google.protobuf.Struct";
  private static final String LIST = "google.protobuf.ListValue";
  private static final String VALUE = "google.protobuf.Value";
  private static final Object NULL = new Object();
  private static final Object NONE = new Object();

  /**
   * Each object is three messages within each other. Runtimes of Protobuf refuse more than 100 of
   * them.
   */
  private static final int DEEPEST = 90;

  private final String message;

  ProtobufJson(String message) {
    this.message = message;
  }

  static boolean isJson(String message) {
    return message.equals(STRUCT) || message.equals(VALUE) || message.equals(LIST);
  }

  @Override
  public Object read(ProtobufInput in, Object before) throws BadValue {
    return message(message, in, before, 1);
  }

  @Override
  public Object finish(Object state) throws BadValue {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = Texts.FACTORY.createGenerator(out)) {
      write(state, json);
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
    return UTF8String.fromBytes(out.toByteArray());
  }

  @Override
  public Object absent() throws BadValue {
    return finish(read(new ProtobufInput(new byte[] {0}, 0), null));
  }

  private static Object message(String name, ProtobufInput in, Object before, int depth)
      throws BadValue {
    if (depth > DEEPEST) {
      throw new BadValue("the value is nested too deeply for Protobuf");
    }
    int outer = in.enter();
    Object item;
    switch (name) {
      case STRUCT:
        item = object(in, before, depth);
        break;
      case LIST:
        item = array(in, before, depth);
        break;
      default:
        item = value(in, before, depth);
    }
    in.leave(outer);
    return item;
  }

  private static Map<String, Object> object(ProtobufInput in, Object before, int depth)
      throws BadValue {
    @SuppressWarnings("unchecked")
    Map<String, Object> entries =
        before instanceof Map ? (Map<String, Object>) before : new LinkedHashMap<>();
    while (in.hasMore()) {
      int tag = in.tag();
      if (tag >>> 3 == 1) {
        expect(tag, ProtobufInput.LENGTH);
        entry(in, entries, depth + 1);
      } else {
        in.skip(tag);
      }
    }
    return entries;
  }

  private static void entry(ProtobufInput in, Map<String, Object> entries, int depth)
      throws BadValue {
    String key = "";
    Object value = NONE;
    int outer = in.enter();
    while (in.hasMore()) {
      int tag = in.tag();
      if (tag >>> 3 == 1) {
        expect(tag, ProtobufInput.LENGTH);
        key = ProtobufScalars.text(in).toString();
      } else if (tag >>> 3 == 2) {
        expect(tag, ProtobufInput.LENGTH);
        value = message(VALUE, in, value, depth + 1);
      } else {
        throw ProtobufFields.inEntry(tag);
      }
    }
    in.leave(outer);
    entries.put(key, value);
  }

  private static List<Object> array(ProtobufInput in, Object before, int depth) throws BadValue {
    @SuppressWarnings("unchecked")
    List<Object> elements = before instanceof List ? (List<Object>) before : new ArrayList<>();
    while (in.hasMore()) {
      int tag = in.tag();
      if (tag >>> 3 == 1) {
        expect(tag, ProtobufInput.LENGTH);
        elements.add(message(VALUE, in, null, depth + 1));
      } else {
        in.skip(tag);
      }
    }
    return elements;
  }

  private static Object value(ProtobufInput in, Object before, int depth) throws BadValue {
    Object item = before == null ? NONE : before;
    while (in.hasMore()) {
      int tag = in.tag();
      switch (tag >>> 3) {
        case 1:
          expect(tag, ProtobufInput.VARINT);
          long number = in.varint();
          if (number != 0) {
            throw BadValue.of(Long.toString(number), "a number of enum google.protobuf.NullValue");
          }
          item = NULL;
          break;
        case 2:
          expect(tag, ProtobufInput.FIXED64);
          item = Double.longBitsToDouble(in.fixed64());
          break;
        case 3:
          expect(tag, ProtobufInput.LENGTH);
          item = ProtobufScalars.text(in).toString();
          break;
        case 4:
          expect(tag, ProtobufInput.VARINT);
          item = ProtobufScalars.bool(in);
          break;
        case 5:
          expect(tag, ProtobufInput.LENGTH);
          item = message(STRUCT, in, item, depth + 1);
          break;
        case 6:
          expect(tag, ProtobufInput.LENGTH);
          item = message(LIST, in, item, depth + 1);
          break;
        default:
          in.skip(tag);
      }
    }
    return item;
  }

  private static void expect(int tag, int wireType) throws BadValue {
    if ((tag & 7) != wireType) {
      throw new BadValue(
          "a value of wire type " + ProtobufInput.name(tag & 7) + " within " + VALUE);
    }
  }

  private static void write(Object value, JsonGenerator json) throws IOException, BadValue {
    if (value instanceof Map) {
      json.writeStartObject();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        json.writeFieldName((String) entry.getKey());
        write(entry.getValue(), json);
      }
      json.writeEndObject();
    } else if (value instanceof List) {
      json.writeStartArray();
      for (Object item : (List<?>) value) {
        write(item, json);
      }
      json.writeEndArray();
    } else if (value instanceof String) {
      json.writeString((String) value);
    } else if (value instanceof Double) {
      write((double) value, json);
    } else if (value instanceof Boolean) {
      json.writeBoolean((boolean) value);
    } else if (value == NULL) {
      json.writeNull();
    } else {
      throw new BadValue("a google.protobuf.Value without a value");
    }
  }

  private static void write(double number, JsonGenerator json) throws IOException, BadValue {
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      throw BadValue.of(Double.toString(number), "a number of JSON");
    }
    JsonTexts.number(json, number);
  }
}
