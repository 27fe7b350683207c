package millstream.codecs.json;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.Base64;
import java.util.Objects;
import java.util.Set;
import millstream.codecs.Encoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.DateFormatter;
import org.apache.spark.sql.catalyst.util.DateFormatter$;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.catalyst.util.TimestampFormatter;
import org.apache.spark.sql.catalyst.util.TimestampFormatter$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Encodes rows as JSON objects, byte for byte as Spark's {@code to_json} does, but straight to
 * bytes: not over Jackson, characters and a text. Times have microseconds. Fields that are NULL are
 * left out, unless Spark is set otherwise or all are asked for.
 */
public final class JsonEncoder implements Encoder.Format {
  private static final long serialVersionUID = 1;
  private static final byte[] NULL = "null".getBytes(StandardCharsets.US_ASCII);
  public static final String TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX";
  public static final String LOCAL_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS";

  private static final Set<DataType> SCALARS =
      Set.of(
          DataTypes.StringType,
          DataTypes.BooleanType,
          DataTypes.ByteType,
          DataTypes.ShortType,
          DataTypes.IntegerType,
          DataTypes.LongType,
          DataTypes.FloatType,
          DataTypes.DoubleType,
          DataTypes.BinaryType,
          DataTypes.DateType,
          DataTypes.TimestampType,
          DataTypes.TimestampNTZType);

  private final StructType fields;
  private final ZoneId zone;
  private final boolean all;
  private transient Fields writer;
  private transient JsonOutput out;

  public JsonEncoder(StructType fields, ZoneId zone, boolean all) {
    this.fields = fields;
    this.zone = zone;
    this.all = all;
  }

  /** Whether it encodes values of a type; those of rare types are left to Spark. */
  public static boolean supports(DataType type) {
    if (type instanceof StructType struct) {
      return Arrays.stream(struct.fields()).allMatch(field -> supports(field.dataType()));
    } else if (type instanceof ArrayType array) {
      return supports(array.elementType());
    } else if (type instanceof MapType map) {
      return map.keyType().equals(DataTypes.StringType) && supports(map.valueType());
    }
    return type instanceof DecimalType || SCALARS.contains(type);
  }

  /** Writes the value at a place of a row or an array, which is not NULL. */
  private interface Value {
    void write(SpecializedGetters from, int index, JsonOutput out);
  }

  /** Writes rows as objects. */
  private record Fields(byte[][] names, Value[] values, boolean all) {
    void write(InternalRow row, JsonOutput out) {
      out.put('{');
      boolean more = false;
      for (int i = 0; i < values.length; i++) {
        boolean missing = row.isNullAt(i);
        if (missing && !all) {
          continue;
        }
        if (more) {
          out.put(',');
        }
        more = true;
        out.put(names[i]);
        if (missing) {
          out.put(NULL);
        } else {
          values[i].write(row, i, out);
        }
      }
      out.put('}');
    }
  }

  @Override
  public byte[] encode(InternalRow row) {
    if (writer == null) {
      prepare();
    }
    out.clear();
    writer.write(row, out);
    return out.written();
  }

  private void prepare() {
    writer = fieldsOf(fields);
    out = new JsonOutput();
  }

  private Fields fieldsOf(StructType type) {
    byte[][] names = new byte[type.length()][];
    Value[] values = new Value[names.length];
    for (int i = 0; i < names.length; i++) {
      JsonOutput name = new JsonOutput();
      name.quoted(UTF8String.fromString(type.apply(i).name()));
      name.put(':');
      names[i] = name.written();
      values[i] = valueOf(type.apply(i).dataType());
    }
    return new Fields(names, values, all);
  }

  private Value valueOf(DataType type) {
    if (type instanceof StringType) {
      return (from, index, to) -> to.quoted(from.getUTF8String(index));
    } else if (type instanceof LongType) {
      return (from, index, to) -> to.number(from.getLong(index));
    } else if (type instanceof IntegerType) {
      return (from, index, to) -> to.number(from.getInt(index));
    } else if (type instanceof ShortType) {
      return (from, index, to) -> to.number(from.getShort(index));
    } else if (type instanceof ByteType) {
      return (from, index, to) -> to.number(from.getByte(index));
    } else if (type instanceof BooleanType) {
      return (from, index, to) -> to.ascii(from.getBoolean(index) ? "true" : "false");
    } else if (type instanceof DoubleType) {
      return (from, index, to) ->
          real(Double.isFinite(from.getDouble(index)), Double.toString(from.getDouble(index)), to);
    } else if (type instanceof FloatType) {
      return (from, index, to) ->
          real(Float.isFinite(from.getFloat(index)), Float.toString(from.getFloat(index)), to);
    } else if (type instanceof DecimalType decimal) {
      return (from, index, to) -> {
        BigDecimal value =
            from.getDecimal(index, decimal.precision(), decimal.scale()).toJavaBigDecimal();
        to.ascii(value.toString());
      };
    } else if (type instanceof BinaryType) {
      return (from, index, to) ->
          text(Base64.getEncoder().encodeToString(from.getBinary(index)), to);
    } else if (type instanceof DateType) {
      DateFormatter format = DateFormatter$.MODULE$.apply();
      return (from, index, to) -> text(format.format(from.getInt(index)), to);
    } else if (type instanceof TimestampType) {
      TimestampFormatter format = TimestampFormatter$.MODULE$.apply(TIME, zone, false);
      return (from, index, to) -> text(format.format(from.getLong(index)), to);
    } else if (type instanceof TimestampNTZType) {
      TimestampFormatter format = TimestampFormatter$.MODULE$.apply(LOCAL_TIME, zone, false, true);
      return (from, index, to) ->
          text(format.format(DateTimeUtils.microsToLocalDateTime(from.getLong(index))), to);
    } else if (type instanceof ArrayType array) {
      Value value = valueOf(array.elementType());
      return (from, index, to) -> elements(from.getArray(index), value, to);
    } else if (type instanceof MapType map) {
      Value value = valueOf(map.valueType());
      return (from, index, to) -> entries(from.getMap(index), value, to);
    } else if (type instanceof StructType struct) {
      Fields fields = fieldsOf(struct);
      return (from, index, to) -> fields.write(from.getStruct(index, struct.length()), to);
    }
    throw new IllegalStateException("not known: " + type.sql());
  }

  private static void real(boolean finite, String text, JsonOutput to) {
    if (finite) {
      to.ascii(text);
    } else {
      text(text, to);
    }
  }

  /** Writes a text of plain ASCII characters. */
  private static void text(String text, JsonOutput to) {
    to.put('"');
    to.ascii(text);
    to.put('"');
  }

  private static void elements(ArrayData array, Value value, JsonOutput to) {
    to.put('[');
    for (int i = 0; i < array.numElements(); i++) {
      if (i > 0) {
        to.put(',');
      }
      element(array, i, value, to);
    }
    to.put(']');
  }

  private static void entries(MapData map, Value value, JsonOutput to) {
    to.put('{');
    ArrayData keys = map.keyArray();
    ArrayData values = map.valueArray();
    for (int i = 0; i < keys.numElements(); i++) {
      if (i > 0) {
        to.put(',');
      }
      to.quoted(keys.getUTF8String(i));
      to.put(':');
      element(values, i, value, to);
    }
    to.put('}');
  }

  /** Writes a value within an array or map, where NULL is not left out. */
  private static void element(ArrayData array, int index, Value value, JsonOutput to) {
    if (array.isNullAt(index)) {
      to.put(NULL);
    } else {
      value.write(array, index, to);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof JsonEncoder
        && fields.equals(((JsonEncoder) other).fields)
        && zone.equals(((JsonEncoder) other).zone)
        && all == ((JsonEncoder) other).all;
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, all);
  }
}
