package millstream.spark;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;
import org.sparkproject.spark_core.protobuf.ListValue;
import org.sparkproject.spark_core.protobuf.Struct;
import org.sparkproject.spark_core.protobuf.Value;

/** Reads {@code google.protobuf.Struct}, {@code Value} and {@code ListValue} as the JSON that they stand for. */
final class ProtobufJson implements ProtobufReader {
  private static final double EXACT = 1L << 53;
  private final String message;

  ProtobufJson(String message) {
    this.message = message;
  }

  static boolean isJson(String message) {
    return message.equals("google.protobuf.Struct")
        || message.equals("google.protobuf.Value")
        || message.equals("google.protobuf.ListValue");
  }

  /** Messages are merged by reading their bytes one after the other. */
  @Override
  public Object read(ProtobufInput in, Object before) throws BadValue {
    byte[] found = in.content();
    if (before == null) {
      return found;
    }
    byte[] first = (byte[]) before;
    byte[] both = Arrays.copyOf(first, first.length + found.length);
    System.arraycopy(found, 0, both, first.length, found.length);
    return both;
  }

  @Override
  public Object finish(Object state) throws BadValue {
    byte[] content = (byte[]) state;
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = Texts.FACTORY.createGenerator(out)) {
      switch (message) {
        case "google.protobuf.Struct":
          write(Struct.parseFrom(content), json);
          break;
        case "google.protobuf.ListValue":
          write(ListValue.parseFrom(content), json);
          break;
        default:
          write(Value.parseFrom(content), json);
      }
    } catch (InvalidProtocolBufferException error) {
      throw new BadValue("not a " + message + ": " + error.getMessage().split("[.\n]", 2)[0]);
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
    return UTF8String.fromBytes(out.toByteArray());
  }

  @Override
  public Object absent() throws BadValue {
    return finish(new byte[0]);
  }

  private static void write(Struct object, JsonGenerator json) throws IOException, BadValue {
    json.writeStartObject();
    for (Map.Entry<String, Value> each : object.getFieldsMap().entrySet()) {
      json.writeFieldName(each.getKey());
      write(each.getValue(), json);
    }
    json.writeEndObject();
  }

  private static void write(ListValue array, JsonGenerator json) throws IOException, BadValue {
    json.writeStartArray();
    for (Value each : array.getValuesList()) {
      write(each, json);
    }
    json.writeEndArray();
  }

  private static void write(Value value, JsonGenerator json) throws IOException, BadValue {
    switch (value.getKindCase()) {
      case NULL_VALUE:
        json.writeNull();
        return;
      case NUMBER_VALUE:
        write(value.getNumberValue(), json);
        return;
      case STRING_VALUE:
        json.writeString(value.getStringValue());
        return;
      case BOOL_VALUE:
        json.writeBoolean(value.getBoolValue());
        return;
      case STRUCT_VALUE:
        write(value.getStructValue(), json);
        return;
      case LIST_VALUE:
        write(value.getListValue(), json);
        return;
      default:
        throw new BadValue("a google.protobuf.Value without a value");
    }
  }

  private static void write(double number, JsonGenerator json) throws IOException, BadValue {
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      throw BadValue.of(Double.toString(number), "a number of JSON");
    }
    if (number == Math.rint(number) && Math.abs(number) <= EXACT && Double.doubleToRawLongBits(number) != Long.MIN_VALUE) {
      json.writeNumber((long) number);
    } else {
      json.writeNumber(number);
    }
  }
}
