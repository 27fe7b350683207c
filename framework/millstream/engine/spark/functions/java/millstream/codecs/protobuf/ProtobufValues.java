package millstream.codecs.protobuf;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import millstream.codecs.BadValue;
import millstream.codecs.Times;
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
        return integer(field, type);
      case FLOAT:
        check(type instanceof FloatType, field, type);
        return (out, from, index) -> out.fixed32(Float.floatToRawIntBits(from.getFloat(index)));
      case DOUBLE:
        check(type instanceof DoubleType || type instanceof FloatType, field, type);
        return type instanceof DoubleType
            ? (out, from, index) -> out.fixed64(Double.doubleToRawLongBits(from.getDouble(index)))
            : (out, from, index) -> out.fixed64(Double.doubleToRawLongBits(from.getFloat(index)));
      case BOOLEAN:
        check(type instanceof BooleanType, field, type);
        return (out, from, index) -> out.varint(from.getBoolean(index) ? 1 : 0);
      case STRING:
        return text(field, type);
      case BYTE_STRING:
        check(type instanceof BinaryType, field, type);
        return (out, from, index) -> content(out, from.getBinary(index));
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
    long of(SpecializedGetters from, int index) throws BadValue;
  }

  private static ProtobufWriter integer(FieldDescriptor field, DataType type) {
    Bits bits = bits(field, type);
    switch (field.getType()) {
      case INT32:
      case INT64:
      case UINT32:
      case UINT64:
        return (out, from, index) -> out.varint(bits.of(from, index));
      case SINT32:
      case SINT64:
        return (out, from, index) -> {
          long value = bits.of(from, index);
          out.varint(value << 1 ^ value >> 63);
        };
      case FIXED32:
      case SFIXED32:
        return (out, from, index) -> out.fixed32((int) bits.of(from, index));
      default:
        return (out, from, index) -> out.fixed64(bits.of(from, index));
    }
  }

  private static Bits bits(FieldDescriptor field, DataType type) {
    boolean unsigned64 = ProtobufScalars.isUnsigned64(field);
    boolean unsigned32 = ProtobufScalars.isUnsigned32(field);
    boolean is32 = field.getJavaType() != FieldDescriptor.JavaType.LONG;
    long most = unsigned32 ? 0xffff_ffffL : is32 ? Integer.MAX_VALUE : Long.MAX_VALUE;
    long least = unsigned32 || unsigned64 ? 0 : ~most;
    String expected =
        "a value of type " + field.getType().name().toLowerCase(java.util.Locale.ROOT);
    if (type instanceof DecimalType) {
      check(((DecimalType) type).scale() == 0, field, type);
      BigInteger top =
          unsigned64
              ? BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE)
              : BigInteger.valueOf(most);
      BigInteger bottom = BigInteger.valueOf(least);
      return (from, index) -> {
        BigInteger integer = decimal(from, index, (DecimalType) type).toBigInteger();
        if (integer.compareTo(bottom) < 0 || integer.compareTo(top) > 0) {
          throw BadValue.of(integer.toString(), expected);
        }
        return integer.longValue();
      };
    }
    ProtobufScalars.most(field, type); // refuses what is not integral
    return (from, index) -> {
      long number =
          type instanceof IntegerType
              ? from.getInt(index)
              : type instanceof ShortType
                  ? from.getShort(index)
                  : type instanceof ByteType ? from.getByte(index) : from.getLong(index);
      if (number < least || number > most) {
        throw BadValue.of(Long.toString(number), expected);
      }
      return number;
    };
  }

  private static BigDecimal decimal(SpecializedGetters from, int index, DecimalType type) {
    return from.getDecimal(index, type.precision(), type.scale()).toJavaBigDecimal();
  }

  /** Dates, decimals and local times have no type of Protobuf: they are texts, as in JSON. */
  private static ProtobufWriter text(FieldDescriptor field, DataType type) {
    if (type instanceof StringType) {
      return (out, from, index) -> {
        UTF8String text = from.getUTF8String(index);
        if (!text.isValid()) {
          throw new BadValue("the text is not UTF-8");
        }
        content(out, text.getBytes());
      };
    } else if (type instanceof DateType) {
      return (out, from, index) -> ascii(out, Times.text(from.getInt(index)));
    } else if (type instanceof TimestampNTZType) {
      return (out, from, index) -> ascii(out, Times.localText(from.getLong(index)));
    } else if (type instanceof DecimalType) {
      return (out, from, index) ->
          ascii(out, decimal(from, index, (DecimalType) type).toPlainString());
    }
    throw ProtobufTypes.unfit(field, type);
  }

  private static void ascii(ProtobufOutput out, String text) {
    content(out, text.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
  }

  private static ProtobufWriter enumeration(FieldDescriptor field, DataType type) {
    String expected = "a value of enum " + field.getEnumType().getFullName();
    Map<UTF8String, Integer> numbers = new HashMap<>();
    for (EnumValueDescriptor constant : field.getEnumType().getValues()) {
      numbers.put(UTF8String.fromString(constant.getName()), constant.getNumber());
    }
    if (type instanceof StringType) {
      return (out, from, index) -> {
        Integer number = numbers.get(from.getUTF8String(index));
        if (number == null) {
          throw BadValue.of(from.getUTF8String(index).toString(), expected);
        }
        out.varint(number);
      };
    }
    Bits bits = bits(field, type);
    boolean closed = field.getEnumType().isClosed();
    return (out, from, index) -> {
      long number = bits.of(from, index);
      if (closed && field.getEnumType().findValueByNumber((int) number) == null) {
        throw BadValue.of(Long.toString(number), expected);
      }
      out.varint(number);
    };
  }
}
