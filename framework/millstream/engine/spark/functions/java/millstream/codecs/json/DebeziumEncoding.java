package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.ZoneId;
import millstream.codecs.BadValue;
import millstream.codecs.ChangeColumns;
import millstream.codecs.Texts;
import millstream.codecs.Times;
import millstream.codecs.text.TextReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * How Debezium writes the values of a column.
 *
 * @param times what a number in a timestamp counts: {@code millis}, {@code micros}, {@code nanos},
 *     or nothing
 * @param decimals what a text in a decimal is: {@code precise}, the bytes of its digits, or {@code
 *     string}, or not known
 * @param scale the number of digits after the point, if the bytes say no more than digits
 * @param items how the elements of an array are written
 */
record DebeziumEncoding(String times, String decimals, int scale, DebeziumEncoding items) {
  static final DebeziumEncoding PLAIN = new DebeziumEncoding("", "string", 0, null);
  private static final JsonReader SCALED =
      JsonReader.of(
          StructType.fromDDL("scale int not null, value binary not null"), ZoneId.of("UTC"));

  /** Returns the encoding of a column by its schema: the name of its meaning, and its type. */
  static DebeziumEncoding of(String name, String type, int scale, DebeziumEncoding items) {
    String times =
        switch (name) {
          case "io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp" -> "millis";
          case "io.debezium.time.MicroTimestamp" -> "micros";
          case "io.debezium.time.NanoTimestamp" -> "nanos";
          default -> "";
        };
    return new DebeziumEncoding(times, type.equals("bytes") ? "precise" : "string", scale, items);
  }

  /** Returns the encoding of a column in a record without a schema. */
  static DebeziumEncoding declared(DataType type, String times, String decimals) {
    if (type instanceof ArrayType array) {
      return new DebeziumEncoding("", "", 0, declared(array.elementType(), times, decimals));
    }
    int scale = type instanceof DecimalType decimal ? decimal.scale() : 0;
    return new DebeziumEncoding(times.isEmpty() ? "unknown" : times, decimals, scale, null);
  }

  JsonReader reader(DataType type, ZoneId zone) {
    JsonReader plain = JsonReader.of(type, zone);
    if (type instanceof DateType) {
      return (p, t) -> t.isNumeric() ? day(p, t, type) : plain.read(p, t);
    } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return (p, t) -> t.isNumeric() ? micros(p, t, type) : plain.read(p, t);
    } else if (type instanceof DecimalType decimal) {
      return (p, t) -> t.isNumeric() ? plain.read(p, t) : decimal(p, t, decimal, plain);
    } else if (type instanceof ArrayType array) {
      return new JsonReader.Elements(
          (items == null ? PLAIN : items).reader(array.elementType(), zone));
    } else if (type instanceof StringType || type instanceof BinaryType) {
      return (p, t) -> ChangeColumns.available(plain.read(p, t));
    }
    return plain;
  }

  private static Object day(JsonParser parser, JsonToken token, DataType type)
      throws IOException, BadValue {
    long day = JsonReader.integer(parser, token, type, Times.FIRST_DAY, Times.LAST_DAY);
    return (int) day;
  }

  private Object micros(JsonParser parser, JsonToken token, DataType type)
      throws IOException, BadValue {
    long number = JsonReader.integer(parser, token, type, Long.MIN_VALUE, Long.MAX_VALUE);
    long micros =
        switch (times) {
          case "millis" ->
              Math.abs(number) > Long.MAX_VALUE / 1_000 ? Long.MAX_VALUE : number * 1_000;
          case "micros" -> number;
          case "nanos" -> Math.floorDiv(number, 1_000L);
          case "unknown" ->
              throw BadValue.of(
                  parser.getText(),
                  Texts.a(type)
                      + ": without a schema, format_options has to say what numbers count, such as"
                      + " timestamps: micros");
          default -> throw JsonReader.unexpected(parser, type);
        };
    if (micros < Times.FIRST || micros > Times.LAST) {
      throw JsonReader.unexpected(parser, type);
    }
    return micros;
  }

  private Decimal decimal(JsonParser parser, JsonToken token, DecimalType type, JsonReader plain)
      throws IOException, BadValue {
    if (token == JsonToken.START_OBJECT) {
      InternalRow scaled = (InternalRow) SCALED.read(parser, token);
      return digits(scaled.getBinary(1), scaled.getInt(0), type);
    }
    if (token != JsonToken.VALUE_STRING || decimals.equals("string")) {
      return (Decimal) plain.read(parser, token);
    }
    if (decimals.isEmpty()) {
      throw BadValue.of(
          parser.getText(),
          Texts.a(type)
              + ": without a schema, format_options has to say what texts are, such as decimals:"
              + " precise");
    }
    return digits((byte[]) JsonReader.base64(parser, token), scale, type);
  }

  private static Decimal digits(byte[] bytes, int scale, DecimalType type) throws BadValue {
    if (bytes.length == 0) {
      throw new BadValue("no bytes are not " + Texts.a(type));
    }
    BigDecimal number = new BigDecimal(new BigInteger(bytes), scale);
    return TextReader.exact(number, number.toPlainString(), type);
  }
}
