package millstream.codecs.avro;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import millstream.codecs.BadValue;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;

/** Writes values without parts, which are not NULL. */
final class AvroScalarWriter {
  private AvroScalarWriter() {}

  static AvroWriter of(Schema schema, DataType type) {
    switch (AvroTypes.logical(schema)) {
      case DECIMAL:
        if (!(type instanceof DecimalType)) {
          AvroTypes.check(schema, type);
        }
        return decimal(schema, (DecimalType) type);
      case TIME:
        AvroTypes.check(schema, type);
        return time(schema);
      case TIMESTAMP:
      case LOCAL_TIMESTAMP:
        AvroTypes.check(schema, type);
        return timestamp(schema);
      case UUID:
        AvroTypes.check(schema, type);
        return (from, index, out) -> out.writeString(AvroScalars.uuid(from.getUTF8String(index)));
      default:
        return plain(schema, type);
    }
  }

  private static AvroWriter plain(Schema schema, DataType type) {
    switch (schema.getType()) {
      case INT:
        AvroTypes.check(schema, type);
        if (type instanceof LongType) {
          return (from, index, out) -> {
            long value = from.getLong(index);
            if (value != (int) value) {
              throw BadValue.of(Long.toString(value), "an int");
            }
            out.writeLong(value);
          };
        }
        return integer(type);
      case LONG:
        if (!isWhole(type)) {
          AvroTypes.check(schema, type);
        }
        return integer(type);
      case FLOAT:
        if (!(type instanceof FloatType)) {
          throw AvroTypes.mismatch(schema, type);
        }
        return (from, index, out) -> out.writeFloat(from.getFloat(index));
      case DOUBLE:
        if (type instanceof FloatType) {
          return (from, index, out) -> out.writeDouble(from.getFloat(index));
        }
        AvroTypes.check(schema, type);
        return (from, index, out) -> out.writeDouble(from.getDouble(index));
      default:
        AvroTypes.check(schema, type);
        return bytes(schema);
    }
  }

  private static boolean isWhole(DataType type) {
    return type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType;
  }

  private static AvroWriter integer(DataType type) {
    return type instanceof LongType
        ? (from, index, out) -> out.writeLong(from.getLong(index))
        : type instanceof ShortType
            ? (from, index, out) -> out.writeLong(from.getShort(index))
            : type instanceof ByteType
                ? (from, index, out) -> out.writeLong(from.getByte(index))
                : (from, index, out) -> out.writeLong(from.getInt(index)); // int, or date
  }

  private static AvroWriter bytes(Schema schema) {
    switch (schema.getType()) {
      case NULL:
        return (from, index, out) -> {};
      case BOOLEAN:
        return (from, index, out) -> out.writeBoolean(from.getBoolean(index));
      case STRING:
        return (from, index, out) -> out.writeString(from.getUTF8String(index));
      case ENUM:
        return symbol(schema);
      case BYTES:
        return (from, index, out) -> out.writeBytes(from.getBinary(index));
      default:
        return (from, index, out) -> {
          byte[] value = from.getBinary(index);
          if (value.length != schema.getFixedSize()) {
            throw new BadValue(value.length + " bytes are not " + AvroTypes.named(schema));
          }
          out.writeFixed(value);
        };
    }
  }

  private static AvroWriter symbol(Schema schema) {
    List<String> symbols = schema.getEnumSymbols();
    return (from, index, out) -> {
      String value = from.getUTF8String(index).toString();
      int number = symbols.indexOf(value);
      if (number < 0) {
        throw BadValue.of(value, "a symbol of " + schema.getFullName());
      }
      out.writeLong(number);
    };
  }

  private static AvroWriter time(Schema schema) {
    boolean millis = AvroTypes.inMillis(schema);
    return (from, index, out) ->
        out.writeLong(
            AvroScalars.timeOfDay(millis ? from.getInt(index) : from.getLong(index), millis));
  }

  private static AvroWriter timestamp(Schema schema) {
    if (!AvroTypes.inMillis(schema)) {
      return (from, index, out) -> out.writeLong(from.getLong(index));
    }
    return (from, index, out) -> {
      long micros = from.getLong(index);
      if (micros % 1000 != 0) {
        throw BadValue.of(micros + " microseconds", "a time in whole milliseconds");
      }
      out.writeLong(micros / 1000);
    };
  }

  private static AvroWriter decimal(Schema schema, DecimalType type) {
    LogicalTypes.Decimal decimal = AvroTypes.decimal(schema);
    int size = schema.getType() == Schema.Type.FIXED ? schema.getFixedSize() : -1;
    return (from, index, out) -> {
      BigDecimal value = from.getDecimal(index, type.precision(), type.scale()).toJavaBigDecimal();
      byte[] number = unscaled(value, decimal, schema).toByteArray();
      if (size < 0) {
        out.writeBytes(number);
      } else {
        byte[] fixed = new byte[size];
        Arrays.fill(fixed, (byte) (value.signum() < 0 ? -1 : 0));
        System.arraycopy(number, 0, fixed, size - number.length, number.length);
        out.writeFixed(fixed);
      }
    };
  }

  private static BigInteger unscaled(BigDecimal value, LogicalTypes.Decimal type, Schema schema)
      throws BadValue {
    try {
      BigDecimal fitting = value.setScale(type.getScale()); // throws if digits would be lost
      if (fitting.precision() <= type.getPrecision()) {
        return fitting.unscaledValue();
      }
    } catch (ArithmeticException error) {
      // more digits than the type has
    }
    throw BadValue.of(value.toPlainString(), "a " + AvroTypes.named(schema));
  }
}
