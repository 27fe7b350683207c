package millstream.codecs.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import java.io.IOException;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.Times;
import millstream.codecs.text.TextReader;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads the value at which a parser stands, as a type; NULL is handled before. */
public interface JsonReader {
  String TWICE = "the object has it twice";

  /** What messages of the parser say of its own options. */
  Pattern PARSER_DETAILS = Pattern.compile(" \\(start marker at .*|: enable `.*");

  Object read(JsonParser parser, JsonToken token) throws IOException, BadValue;

  static JsonReader of(DataType type, ZoneId zone) {
    return of(type, zone, false);
  }

  /** If {@code closed}, objects have no fields but those of the type. */
  static JsonReader of(DataType type, ZoneId zone, boolean closed) {
    if (type instanceof StringType) {
      return JsonReader::text;
    } else if (type instanceof LongType) {
      return (p, t) -> integer(p, t, type, Long.MIN_VALUE, Long.MAX_VALUE);
    } else if (type instanceof IntegerType) {
      return (p, t) -> (int) integer(p, t, type, Integer.MIN_VALUE, Integer.MAX_VALUE);
    } else if (type instanceof ShortType) {
      return (p, t) -> (short) integer(p, t, type, Short.MIN_VALUE, Short.MAX_VALUE);
    } else if (type instanceof ByteType) {
      return (p, t) -> (byte) integer(p, t, type, Byte.MIN_VALUE, Byte.MAX_VALUE);
    } else if (type instanceof DoubleType) {
      return (p, t) -> number(p, t, type);
    } else if (type instanceof FloatType) {
      return (p, t) -> single(p, t, type);
    } else if (type instanceof BooleanType) {
      return JsonReader::bool;
    } else if (type instanceof DecimalType) {
      return (p, t) -> decimal(p, t, (DecimalType) type);
    } else if (type instanceof DateType) {
      return (p, t) -> Times.date(string(p, t, type));
    } else if (type instanceof TimestampType) {
      return (p, t) ->
          t == JsonToken.VALUE_NUMBER_INT
              ? Times.ofSeconds(integer(p, t, type, Long.MIN_VALUE, Long.MAX_VALUE))
              : Times.timestamp(string(p, t, type), zone);
    } else if (type instanceof TimestampNTZType) {
      return (p, t) -> Times.local(string(p, t, type));
    } else if (type instanceof BinaryType) {
      return JsonReader::base64;
    } else if (type instanceof ArrayType) {
      return new Elements((ArrayType) type, zone, closed);
    } else if (type instanceof MapType) {
      return new Entries((MapType) type, zone, closed);
    } else if (type instanceof StructType) {
      Fields fields = new Fields((StructType) type, zone, closed);
      return (p, t) -> {
        expect(p, t, JsonToken.START_OBJECT, "an object");
        return new GenericInternalRow(fields.read(p));
      };
    }
    if (type instanceof VariantType) {
      return JsonReader::json;
    } else if (type instanceof NullType) {
      return (p, t) -> {
        throw unexpected(p, type);
      };
    }
    throw new IllegalArgumentException("no JSON reader for " + type.sql());
  }

  static Object text(JsonParser parser, JsonToken token) throws IOException, BadValue {
    if (token == JsonToken.VALUE_STRING) {
      return Texts.utf8(parser.getTextCharacters(), parser.getTextOffset(), parser.getTextLength());
    }
    if (token.isScalarValue()) {
      return UTF8String.fromString(parser.getText());
    }
    return json(parser, token);
  }

  /** Returns the JSON of a value. */
  static Object json(JsonParser parser, JsonToken token) throws IOException, BadValue {
    StringWriter out = new StringWriter();
    try (JsonGenerator copy = Texts.FACTORY.createGenerator(out)) {
      copy(parser, copy);
    }
    char[] text = out.toString().toCharArray();
    return Texts.utf8(text, 0, text.length);
  }

  /**
   * Copies a value; numbers as they are written, since some have an exponent that Java's types
   * can't hold.
   */
  private static void copy(JsonParser parser, JsonGenerator out) throws IOException {
    int depth = 0;
    for (JsonToken token = parser.currentToken(); ; token = parser.nextToken()) {
      if (token.isNumeric()) {
        out.writeNumber(parser.getText());
      } else {
        out.copyCurrentEvent(parser);
      }
      depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
      if (depth == 0) {
        return;
      }
    }
  }

  static long integer(JsonParser parser, JsonToken token, DataType type, long least, long most)
      throws IOException, BadValue {
    if (!token.isNumeric()) {
      throw unexpected(parser, type);
    }
    try {
      // In JSON, 1.0 and 1e0 are the same number as 1.
      long number =
          token == JsonToken.VALUE_NUMBER_INT
              ? parser.getLongValue()
              : parser.getDecimalValue().longValueExact();
      if (number >= least && number <= most) {
        return number;
      }
    } catch (InputCoercionException | ArithmeticException | NumberFormatException error) {
      // more than 64 bits, a fraction, or an exponent of more than 32 bits
    }
    throw unexpected(parser, type);
  }

  static double number(JsonParser parser, JsonToken token, DataType type)
      throws IOException, BadValue {
    if (token.isNumeric()) {
      double real = parser.getDoubleValue();
      if (Double.isInfinite(real)) {
        throw unexpected(parser, type);
      }
      return real;
    }
    return special(parser, token, type);
  }

  static float single(JsonParser parser, JsonToken token, DataType type)
      throws IOException, BadValue {
    if (token.isNumeric()) {
      float number = parser.getFloatValue();
      if (Float.isInfinite(number)) {
        throw unexpected(parser, type);
      }
      return number;
    }
    return (float) special(parser, token, type);
  }

  private static double special(JsonParser parser, JsonToken token, DataType type)
      throws IOException, BadValue {
    if (token == JsonToken.VALUE_STRING) {
      switch (parser.getText()) { // as Spark and others write them; CSV and XML have more names
        case "NaN":
          return Double.NaN;
        case "Infinity":
          return Double.POSITIVE_INFINITY;
        case "-Infinity":
          return Double.NEGATIVE_INFINITY;
        default:
          break;
      }
    }
    throw unexpected(parser, type);
  }

  static Object bool(JsonParser parser, JsonToken token) throws IOException, BadValue {
    if (!token.isBoolean()) {
      throw BadValue.of(parser.getText(), "true or false");
    }
    return token == JsonToken.VALUE_TRUE;
  }

  static Decimal decimal(JsonParser parser, JsonToken token, DecimalType type)
      throws IOException, BadValue {
    try {
      if (token.isNumeric()) {
        return TextReader.exact(parser.getDecimalValue(), parser.getText(), type);
      }
      String text = string(parser, token, type).trim();
      if (TextReader.NUMBER.matcher(text).matches()) { // Java also reads digits of other scripts
        return TextReader.exact(new BigDecimal(text), parser.getText(), type);
      }
    } catch (NumberFormatException error) {
      // an exponent of more than 32 bits
    }
    throw unexpected(parser, type);
  }

  static Object base64(JsonParser parser, JsonToken token) throws IOException, BadValue {
    String text = string(parser, token, org.apache.spark.sql.types.DataTypes.BinaryType).strip();
    int padding = text.indexOf('=');
    if (padding >= 0
        && (padding < text.length() - 2
            || !isWhole(text, padding))) { // the parser reads on after the end
      throw BadValue.of(parser.getText(), "base64");
    }
    try {
      return parser.getBinaryValue();
    } catch (JsonProcessingException error) {
      throw BadValue.of(parser.getText(), "base64");
    }
  }

  /**
   * Returns whether the last character before the padding has no bits that are not those of a byte.
   */
  private static boolean isWhole(String text, int padding) {
    String last = text.endsWith("==") ? "AQgw" : "AEIMQUYcgkosw048";
    return padding > 0 && last.indexOf(text.charAt(padding - 1)) >= 0;
  }

  static String string(JsonParser parser, JsonToken token, DataType type)
      throws IOException, BadValue {
    if (token != JsonToken.VALUE_STRING) {
      throw unexpected(parser, type);
    }
    return parser.getText();
  }

  static BadValue unexpected(JsonParser parser, DataType type) throws IOException {
    JsonToken token = parser.currentToken();
    if (token.isStructStart()) {
      return new BadValue(
          (token == JsonToken.START_OBJECT ? "an object" : "an array")
              + " is not "
              + Texts.a(type));
    }
    return BadValue.of(parser.getText(), Texts.a(type));
  }

  static void expect(JsonParser parser, JsonToken token, JsonToken start, String expected)
      throws IOException, BadValue {
    if (token != start) {
      throw token.isStructStart()
          ? new BadValue(
              (token == JsonToken.START_OBJECT ? "an object" : "an array") + " is not " + expected)
          : BadValue.of(parser.getText(), expected);
    }
  }

  static String firstLine(IOException error) {
    String text =
        error instanceof JsonProcessingException
            ? ((JsonProcessingException) error).getOriginalMessage()
            : String.valueOf(error.getMessage());
    return PARSER_DETAILS.matcher(text.split("\n", 2)[0]).replaceFirst("");
  }

  /** The fields of an object. */
  final class Fields {
    private static final int MOST = 1_000;
    private static final int NONE = -1;
    private final Map<String, Integer> indexes = new HashMap<>();

    /**
     * The names of earlier objects by their turn, and the index of each: most objects have the same
     * in the same order.
     */
    private final List<String> usual = new ArrayList<>();

    private int[] usualIndexes = new int[0];
    private final String[] names;
    private final JsonReader[] readers;
    private final boolean[] required;
    private final boolean closed;

    Fields(StructType type, ZoneId zone, boolean closed) {
      this(
          type,
          Arrays.stream(type.fields())
              .map(field -> of(field.dataType(), zone, closed))
              .toArray(JsonReader[]::new),
          closed);
    }

    Fields(StructType type, JsonReader[] readers, boolean closed) {
      this.closed = closed;
      this.readers = readers;
      names = type.fieldNames();
      required = new boolean[names.length];
      for (int i = 0; i < names.length; i++) {
        indexes.put(names[i], i);
        required[i] = !type.fields()[i].nullable();
      }
    }

    /** Returns the index of a field, by its name and its turn in the object. */
    @SuppressWarnings("ReferenceEquality") // the parser returns the same text for the same name
    private int index(String name, int turn) {
      if (turn < usualIndexes.length && usual.get(turn) == name) {
        return usualIndexes[turn];
      }
      int number = indexes.getOrDefault(name, NONE);
      if (turn < usualIndexes.length) {
        usual.set(turn, name);
        usualIndexes[turn] = number;
      } else if (turn < MOST) {
        usual.add(name);
        usualIndexes = Arrays.copyOf(usualIndexes, turn + 1);
        usualIndexes[turn] = number;
      }
      return number;
    }

    /** Returns the values of all fields, and the {@link BadColumns} among them, or null. */
    Object[] record(JsonParser parser) throws IOException {
      JsonStreamContext object = parser.getParsingContext();
      Object[] row = new Object[names.length + 1];
      boolean[] done = null; // fields without a value
      BadColumns bad = null;
      String name;
      for (int turn = 0; (name = parser.nextFieldName()) != null; turn++) {
        int index = index(name, turn);
        JsonToken token = parser.nextToken();
        if (index == NONE) {
          parser.skipChildren();
          continue;
        }
        if (token != JsonToken.VALUE_NULL || row[index] != null) {
          try {
            if (row[index] != null || (done != null && done[index])) {
              throw new BadValue(TWICE);
            }
            row[index] = readers[index].read(parser, token);
            continue;
          } catch (BadValue error) {
            bad = BadColumns.with(bad, name, error);
            row[index] = null;
            while (parser.getParsingContext() != object
                && parser.nextToken() != null) { // the rest of the value
            }
          }
        } else if (done != null && done[index]) {
          bad = BadColumns.with(bad, name, new BadValue(TWICE));
        }
        done = done == null ? new boolean[names.length] : done;
        done[index] = true;
      }
      for (int i = 0; i < names.length; i++) {
        if (required[i] && row[i] == null) {
          bad = BadColumns.with(bad, names[i], new BadValue("the value is missing"));
        }
      }
      row[names.length] = bad;
      return row;
    }

    /** Returns the values of all fields. */
    Object[] read(JsonParser parser) throws IOException, BadValue {
      return read(parser, parser.nextFieldName());
    }

    /** Returns the same if the parser has already read the name of the first field. */
    Object[] read(JsonParser parser, String first) throws IOException, BadValue {
      Object[] row = new Object[names.length];
      boolean[] nulls = null;
      String name = first;
      for (int turn = 0; name != null; turn++, name = parser.nextFieldName()) {
        int index = index(name, turn);
        JsonToken token = parser.nextToken();
        if (index == NONE && closed) {
          throw new BadValue(BadValue.quoted(name) + " is not a field of the schema");
        } else if (index == NONE) {
          parser.skipChildren();
        } else if (row[index] != null || (nulls != null && nulls[index])) {
          throw new BadValue(TWICE).in(name);
        } else if (token == JsonToken.VALUE_NULL) {
          nulls = nulls == null ? new boolean[names.length] : nulls;
          nulls[index] = true;
        } else {
          try {
            row[index] = readers[index].read(parser, token);
          } catch (BadValue error) {
            throw error.in(name);
          }
        }
      }
      for (int i = 0; i < names.length; i++) {
        if (required[i] && row[i] == null) {
          throw new BadValue("the value is missing").in(names[i]);
        }
      }
      return row;
    }
  }

  /** The elements of an array. */
  final class Elements implements JsonReader {
    private final JsonReader reader;

    Elements(ArrayType type, ZoneId zone, boolean closed) {
      this(of(type.elementType(), zone, closed));
    }

    Elements(JsonReader reader) {
      this.reader = reader;
    }

    @Override
    public Object read(JsonParser parser, JsonToken start) throws IOException, BadValue {
      expect(parser, start, JsonToken.START_ARRAY, "an array");
      List<Object> elements = new ArrayList<>();
      JsonToken token;
      while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
        try {
          elements.add(token == JsonToken.VALUE_NULL ? null : reader.read(parser, token));
        } catch (BadValue error) {
          throw error.in("[" + elements.size() + "]");
        }
      }
      return new GenericArrayData(elements.toArray());
    }
  }

  /** The entries of an object as a map. */
  final class Entries implements JsonReader {
    private final JsonReader reader;
    private final TextReader ofKeys;

    Entries(MapType type, ZoneId zone, boolean closed) {
      reader = of(type.valueType(), zone, closed);
      ofKeys = TextReader.of(type.keyType(), zone);
    }

    @Override
    public Object read(JsonParser parser, JsonToken start) throws IOException, BadValue {
      expect(parser, start, JsonToken.START_OBJECT, "an object");
      Map<String, Object> entries = new LinkedHashMap<>();
      String name;
      while ((name = parser.nextFieldName()) != null) {
        JsonToken token = parser.nextToken();
        if (entries.containsKey(name)) {
          throw new BadValue(TWICE).in(name);
        }
        try {
          entries.put(name, token == JsonToken.VALUE_NULL ? null : reader.read(parser, token));
        } catch (BadValue error) {
          throw error.in(name);
        }
      }
      Object[] keys = new Object[entries.size()];
      int i = 0;
      for (String key : entries.keySet()) {
        keys[i++] = ofKeys.read(key);
      }
      return new ArrayBasedMapData(
          new GenericArrayData(keys), new GenericArrayData(entries.values().toArray()));
    }
  }
}
