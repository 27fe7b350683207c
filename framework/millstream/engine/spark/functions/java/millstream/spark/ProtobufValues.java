package millstream.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumValueDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/** Writes scalars without their tags. A value that the field's type can't hold is refused. */
final class ProtobufValues {
  private ProtobufValues() {}

  static ProtobufWriter of(FieldDescriptor field, DataType type) {
    switch (field.getJavaType()) {
      case INT:
      case LONG:
        return whole(field, type);
      case FLOAT:
        check(type instanceof FloatType, field, type);
        return (out, from, at) -> out.fixed32(Float.floatToRawIntBits(from.getFloat(at)));
      case DOUBLE:
        check(type instanceof DoubleType || type instanceof FloatType, field, type);
        return type instanceof DoubleType
            ? (out, from, at) -> out.fixed64(Double.doubleToRawLongBits(from.getDouble(at)))
            : (out, from, at) -> out.fixed64(Double.doubleToRawLongBits(from.getFloat(at)));
      case BOOLEAN:
        check(type instanceof BooleanType, field, type);
        return (out, from, at) -> out.varint(from.getBoolean(at) ? 1 : 0);
      case STRING:
        return text(field, type);
      case BYTE_STRING:
        check(type instanceof BinaryType, field, type);
        return (out, from, at) -> content(out, from.getBinary(at));
      case ENUM:
        return enumeration(field, type);
      default:
        throw ProtobufTypes.unfit(field, type);
    }
  }

  private static void check(boolean fits, FieldDescriptor field, DataType type) {
    if (!fits) {
      throw ProtobufTypes.unfit(field, type);
    }
  }

  private static void content(ProtobufOutput out, byte[] content) {
    out.bytes(content);
    out.varint(content.length);
  }

  /** Gets the 64 bits of a value of a column. */
  private interface Bits {
    long of(SpecializedGetters from, int at) throws BadValue;
  }

  private static ProtobufWriter whole(FieldDescriptor field, DataType type) {
    Bits bits = bits(field, type);
    switch (field.getType()) {
      case INT32:
      case INT64:
      case UINT32:
      case UINT64:
        return (out, from, at) -> out.varint(bits.of(from, at));
      case SINT32:
      case SINT64:
        return (out, from, at) -> {
          long value = bits.of(from, at);
          out.varint(value << 1 ^ value >> 63);
        };
      case FIXED32:
      case SFIXED32:
        return (out, from, at) -> out.fixed32((int) bits.of(from, at));
      default:
        return (out, from, at) -> out.fixed64(bits.of(from, at));
    }
  }

  private static Bits bits(FieldDescriptor field, DataType type) {
    boolean unsigned64 = ProtobufScalars.isUnsigned64(field);
    boolean unsigned32 = ProtobufScalars.isUnsigned32(field);
    boolean is32 = field.getJavaType() != FieldDescriptor.JavaType.LONG;
    long most = unsigned32 ? 0xffff_ffffL : is32 ? Integer.MAX_VALUE : Long.MAX_VALUE;
    long least = unsigned32 || unsigned64 ? 0 : ~most;
    String expected = "a value of type " + field.getType().name().toLowerCase(java.util.Locale.ROOT);
    if (type instanceof DecimalType) {
      check(((DecimalType) type).scale() == 0, field, type);
      BigInteger top = unsigned64 ? BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE) : BigInteger.valueOf(most);
      BigInteger bottom = BigInteger.valueOf(least);
      return (from, at) -> {
        BigInteger found = decimal(from, at, (DecimalType) type).toBigInteger();
        if (found.compareTo(bottom) < 0 || found.compareTo(top) > 0) {
          throw BadValue.of(found.toString(), expected);
        }
        return found.longValue();
      };
    }
    ProtobufScalars.most(field, type); // refuses what is not integral
    return (from, at) -> {
      long found = type instanceof IntegerType ? from.getInt(at)
          : type instanceof ShortType ? from.getShort(at)
          : type instanceof ByteType ? from.getByte(at)
          : from.getLong(at);
      if (found < least || found > most) {
        throw BadValue.of(Long.toString(found), expected);
      }
      return found;
    };
  }

  private static BigDecimal decimal(SpecializedGetters from, int at, DecimalType type) {
    return from.getDecimal(at, type.precision(), type.scale()).toJavaBigDecimal();
  }

  /** Dates, decimals and local times have no type of Protobuf: they are texts, as in JSON. */
  private static ProtobufWriter text(FieldDescriptor field, DataType type) {
    if (type instanceof StringType) {
      return (out, from, at) -> {
        UTF8String text = from.getUTF8String(at);
        if (!text.isValid()) {
          throw new BadValue("the text is not UTF-8");
        }
        content(out, text.getBytes());
      };
    } else if (type instanceof DateType) {
      return (out, from, at) -> ascii(out, Times.text(from.getInt(at)));
    } else if (type instanceof TimestampNTZType) {
      return (out, from, at) -> ascii(out, Times.localText(from.getLong(at)));
    } else if (type instanceof DecimalType) {
      return (out, from, at) -> ascii(out, decimal(from, at, (DecimalType) type).toPlainString());
    }
    throw ProtobufTypes.unfit(field, type);
  }

  private static void ascii(ProtobufOutput out, String text) {
    content(out, text.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
  }

  private static ProtobufWriter enumeration(FieldDescriptor field, DataType type) {
    String expected = "a value of enum " + field.getEnumType().getFullName();
    Map<UTF8String, Integer> numbers = new HashMap<>();
    for (EnumValueDescriptor each : field.getEnumType().getValues()) {
      numbers.put(UTF8String.fromString(each.getName()), each.getNumber());
    }
    if (type instanceof StringType) {
      return (out, from, at) -> {
        Integer number = numbers.get(from.getUTF8String(at));
        if (number == null) {
          throw BadValue.of(from.getUTF8String(at).toString(), expected);
        }
        out.varint(number);
      };
    }
    Bits bits = bits(field, type);
    boolean closed = field.getEnumType().isClosed();
    return (out, from, at) -> {
      long number = bits.of(from, at);
      if (closed && field.getEnumType().findValueByNumber((int) number) == null) {
        throw BadValue.of(Long.toString(number), expected);
      }
      out.varint(number);
    };
  }
}
