package millstream.spark;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.StructsToJson;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.catalyst.json.JSONOptions;
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
import scala.jdk.javaapi.CollectionConverters;

/**
 * Encodes rows as JSON objects, byte for byte as Spark's {@code to_json} does, but straight to bytes: not over Jackson,
 * characters and a text. Times have microseconds. Fields that are NULL are left out, unless Spark is set otherwise or
 * all are asked for.
 */
final class JsonEncoder implements Encoder.Format {
  private static final long serialVersionUID = 1;
  private static final byte[] NULL = "null".getBytes(StandardCharsets.US_ASCII);
  private static final String TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX";
  private static final String LOCAL_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS";

  private static final Set<DataType> SCALARS = Set.of(
      DataTypes.StringType, DataTypes.BooleanType, DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType,
      DataTypes.LongType, DataTypes.FloatType, DataTypes.DoubleType, DataTypes.BinaryType, DataTypes.DateType,
      DataTypes.TimestampType, DataTypes.TimestampNTZType);

  private final StructType fields;
  private final ZoneId zone;
  private final boolean all;
  private transient Fields writer;
  private transient JsonOutput out;

  private JsonEncoder(StructType fields, ZoneId zone, boolean all) {
    this.fields = fields;
    this.zone = zone;
    this.all = all;
  }

  /** Encodes a struct; what has types that are rare is left to Spark. */
  static Expression of(Expression struct, ZoneId zone, boolean all) {
    if (struct.dataType() instanceof StructType fields && isKnown(fields)) {
      Encoder encoder = new Encoder("encode_json", fields, new JsonEncoder(fields, zone, all));
      return V2ExpressionUtils.resolveScalarFunction(encoder, Extensions.seq(struct));
    }
    Map<String, String> options = Map.of(
        JSONOptions.TIMESTAMP_FORMAT(), TIME, JSONOptions.TIMESTAMP_NTZ_FORMAT(), LOCAL_TIME,
        JSONOptions.IGNORE_NULL_FIELDS(), Boolean.toString(!all));
    scala.collection.immutable.Map<String, String> given =
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(options));
    return Cast$.MODULE$.apply(new StructsToJson(given, struct, scala.Option.apply(zone.getId())), DataTypes.BinaryType, false);
  }

  private static boolean isKnown(DataType type) {
    if (type instanceof StructType struct) {
      return Arrays.stream(struct.fields()).allMatch(field -> isKnown(field.dataType()));
    } else if (type instanceof ArrayType array) {
      return isKnown(array.elementType());
    } else if (type instanceof MapType map) {
      return map.keyType().equals(DataTypes.StringType) && isKnown(map.valueType());
    }
    return type instanceof DecimalType || SCALARS.contains(type);
  }

  /** Writes the value at a place of a row or an array, which is not NULL. */
  private interface Value {
    void write(SpecializedGetters from, int place, JsonOutput out);
  }

  /** Writes rows as objects. */
  private record Fields(byte[][] names, Value[] values, boolean all) {
    void write(InternalRow row, JsonOutput out) {
      out.put('{');
      boolean more = false;
      for (int each = 0; each < values.length; each++) {
        boolean missing = row.isNullAt(each);
        if (missing && !all) {
          continue;
        }
        if (more) {
          out.put(',');
        }
        more = true;
        out.put(names[each]);
        if (missing) {
          out.put(NULL);
        } else {
          values[each].write(row, each, out);
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
    for (int each = 0; each < names.length; each++) {
      JsonOutput name = new JsonOutput();
      name.quoted(UTF8String.fromString(type.apply(each).name()));
      name.put(':');
      names[each] = name.written();
      values[each] = valueOf(type.apply(each).dataType());
    }
    return new Fields(names, values, all);
  }

  private Value valueOf(DataType type) {
    if (type instanceof StringType) {
      return (from, place, to) -> to.quoted(from.getUTF8String(place));
    } else if (type instanceof LongType) {
      return (from, place, to) -> to.number(from.getLong(place));
    } else if (type instanceof IntegerType) {
      return (from, place, to) -> to.number(from.getInt(place));
    } else if (type instanceof ShortType) {
      return (from, place, to) -> to.number(from.getShort(place));
    } else if (type instanceof ByteType) {
      return (from, place, to) -> to.number(from.getByte(place));
    } else if (type instanceof BooleanType) {
      return (from, place, to) -> to.ascii(from.getBoolean(place) ? "true" : "false");
    } else if (type instanceof DoubleType) {
      return (from, place, to) -> real(Double.isFinite(from.getDouble(place)), Double.toString(from.getDouble(place)), to);
    } else if (type instanceof FloatType) {
      return (from, place, to) -> real(Float.isFinite(from.getFloat(place)), Float.toString(from.getFloat(place)), to);
    } else if (type instanceof DecimalType decimal) {
      return (from, place, to) -> {
        BigDecimal value = from.getDecimal(place, decimal.precision(), decimal.scale()).toJavaBigDecimal();
        to.ascii(value.toString());
      };
    } else if (type instanceof BinaryType) {
      return (from, place, to) -> text(Base64.getEncoder().encodeToString(from.getBinary(place)), to);
    } else if (type instanceof DateType) {
      DateFormatter format = DateFormatter$.MODULE$.apply();
      return (from, place, to) -> text(format.format(from.getInt(place)), to);
    } else if (type instanceof TimestampType) {
      TimestampFormatter format = TimestampFormatter$.MODULE$.apply(TIME, zone, false);
      return (from, place, to) -> text(format.format(from.getLong(place)), to);
    } else if (type instanceof TimestampNTZType) {
      TimestampFormatter format = TimestampFormatter$.MODULE$.apply(LOCAL_TIME, zone, false, true);
      return (from, place, to) -> text(format.format(DateTimeUtils.microsToLocalDateTime(from.getLong(place))), to);
    } else if (type instanceof ArrayType array) {
      Value value = valueOf(array.elementType());
      return (from, place, to) -> elements(from.getArray(place), value, to);
    } else if (type instanceof MapType map) {
      Value value = valueOf(map.valueType());
      return (from, place, to) -> entries(from.getMap(place), value, to);
    } else if (type instanceof StructType struct) {
      Fields found = fieldsOf(struct);
      return (from, place, to) -> found.write(from.getStruct(place, struct.length()), to);
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
    for (int each = 0; each < array.numElements(); each++) {
      if (each > 0) {
        to.put(',');
      }
      element(array, each, value, to);
    }
    to.put(']');
  }

  private static void entries(MapData map, Value value, JsonOutput to) {
    to.put('{');
    ArrayData keys = map.keyArray();
    ArrayData values = map.valueArray();
    for (int each = 0; each < keys.numElements(); each++) {
      if (each > 0) {
        to.put(',');
      }
      to.quoted(keys.getUTF8String(each));
      to.put(':');
      element(values, each, value, to);
    }
    to.put('}');
  }

  /** Writes a value within an array or map, where NULL is not left out. */
  private static void element(ArrayData array, int place, Value value, JsonOutput to) {
    if (array.isNullAt(place)) {
      to.put(NULL);
    } else {
      value.write(array, place, to);
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
