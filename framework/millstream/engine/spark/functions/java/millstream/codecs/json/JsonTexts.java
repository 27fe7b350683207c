package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.math.MathContext;
import java.time.ZoneOffset;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.Times;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The texts of what is within a value of its own type, for which Spark has no type: its JSON. In
 * such a text, a variant stands for the JSON of what is further within.
 */
public final class JsonTexts {
  private static final double EXACT = 1L << 53;

  private JsonTexts() {}

  /** Whether a column, or a part of such a text, holds the JSON of a message or a record. */
  public static boolean holds(DataType type) {
    return type instanceof StringType || type instanceof VariantType;
  }

  public static UTF8String write(InternalRow row, StructType type) throws BadValue {
    StringWriter out = new StringWriter();
    try (JsonGenerator json = Texts.FACTORY.createGenerator(out)) {
      object(json, row, type);
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
    return UTF8String.fromString(out.toString());
  }

  private static void object(JsonGenerator json, InternalRow row, StructType type)
      throws IOException, BadValue {
    json.writeStartObject();
    StructField[] fields = type.fields();
    for (int i = 0; i < fields.length; i++) {
      json.writeFieldName(fields[i].name());
      value(json, row.isNullAt(i) ? null : row.get(i, fields[i].dataType()), fields[i].dataType());
    }
    json.writeEndObject();
  }

  private static void value(JsonGenerator json, Object value, DataType type)
      throws IOException, BadValue {
    if (value == null) {
      json.writeNull();
    } else if (type instanceof StructType) {
      object(json, (InternalRow) value, (StructType) type);
    } else if (type instanceof ArrayType) {
      json.writeStartArray();
      ArrayData array = (ArrayData) value;
      DataType element = ((ArrayType) type).elementType();
      for (int i = 0; i < array.numElements(); i++) {
        value(json, array.isNullAt(i) ? null : array.get(i, element), element);
      }
      json.writeEndArray();
    } else if (type instanceof MapType) {
      map(json, (MapData) value, (MapType) type);
    } else if (type instanceof VariantType) {
      json.writeRawValue(value.toString());
    } else {
      scalar(json, value, type);
    }
  }

  private static void map(JsonGenerator json, MapData map, MapType type)
      throws IOException, BadValue {
    json.writeStartObject();
    for (int i = 0; i < map.numElements(); i++) {
      json.writeFieldName(map.keyArray().get(i, type.keyType()).toString());
      boolean isNull = map.valueArray().isNullAt(i);
      value(json, isNull ? null : map.valueArray().get(i, type.valueType()), type.valueType());
    }
    json.writeEndObject();
  }

  private static void scalar(JsonGenerator json, Object value, DataType type)
      throws IOException, BadValue {
    if (type instanceof DateType) {
      json.writeString(Times.text((int) value));
    } else if (type instanceof TimestampType) {
      json.writeString(Times.localText((long) value) + "Z");
    } else if (type instanceof TimestampNTZType) {
      json.writeString(Times.localText((long) value));
    } else if (value instanceof byte[]) {
      json.writeBinary((byte[]) value);
    } else if (value instanceof Boolean) {
      json.writeBoolean((boolean) value);
    } else if (value instanceof Decimal) {
      json.writeNumber(((Decimal) value).toJavaBigDecimal().toPlainString());
    } else if (value instanceof Double || value instanceof Float) {
      number(json, ((Number) value).doubleValue());
    } else if (value instanceof Number) {
      json.writeNumber(((Number) value).longValue());
    } else {
      json.writeString(value.toString());
    }
  }

  public static void number(JsonGenerator json, double number) throws IOException {
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      json.writeString(Double.toString(number));
    } else if (Double.doubleToRawLongBits(number) == Long.MIN_VALUE) {
      json.writeNumber("-0.0");
    } else if (number == Math.rint(number) && Math.abs(number) <= EXACT) {
      json.writeNumber((long) number);
    } else {
      json.writeNumber(shortest(number).toString());
    }
  }

  /**
   * Returns the shortest number that is read as a double; Java's own texts have more digits before
   * version 19.
   */
  private static BigDecimal shortest(double number) {
    BigDecimal exact = new BigDecimal(number);
    for (int digits = Math.abs(number) < Double.MIN_NORMAL ? 1 : 15; ; digits++) {
      BigDecimal decimal = exact.round(new MathContext(digits)).stripTrailingZeros();
      if (decimal.doubleValue() == number) {
        return decimal;
      }
    }
  }

  /** Reads such texts: an object each, with no fields but those of a type. */
  public static final class Reader {
    private final JsonReader reader;

    public Reader(StructType type) {
      reader = JsonReader.of(type, ZoneOffset.UTC, true);
    }

    public InternalRow read(UTF8String text) throws BadValue {
      byte[] bytes = text.getBytes();
      Texts.checkUtf8(bytes, 0);
      try (JsonParser parser = JsonFormat.FACTORY.createParser(bytes)) {
        JsonToken token = parser.nextToken();
        if (token == null) {
          throw new BadValue("the value is empty");
        }
        if (token == JsonToken.VALUE_NULL) {
          throw BadValue.of("null", "an object");
        }
        InternalRow row = (InternalRow) reader.read(parser, token);
        if (parser.nextToken() != null) {
          throw new BadValue("there is more after the JSON value");
        }
        return row;
      } catch (IOException error) {
        throw new BadValue("not JSON: " + JsonReader.firstLine(error));
      }
    }
  }
}
