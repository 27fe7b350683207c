package millstream.codecs.protobuf;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.Times;
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
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.ByteString;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumValueDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/**
 * Reads scalars. A number that its own type or the column's can't hold is bad; runtimes of Protobuf
 * cut it instead.
 */
final class ProtobufScalars {
  private ProtobufScalars() {}

  static ProtobufReader of(FieldDescriptor field, DataType type) {
    switch (field.getJavaType()) {
      case INT:
      case LONG:
        return new Scalar<>(integer(field), wholeAs(field, type), number(field));
      case FLOAT:
        return floating(field, type);
      case DOUBLE:
        check(type instanceof DoubleType, field, type);
        return new Scalar<>(
            in -> Double.longBitsToDouble(in.fixed64()), value -> value, (Double) defaultOf(field));
      case BOOLEAN:
        check(type instanceof BooleanType, field, type);
        return new Scalar<>(ProtobufScalars::bool, value -> value, (Boolean) defaultOf(field));
      case STRING:
        return new Scalar<>(ProtobufScalars::text, textAs(field, type), text(field));
      case BYTE_STRING:
        check(type instanceof BinaryType, field, type);
        ByteString bytes = (ByteString) defaultOf(field);
        return new Scalar<>(
            ProtobufInput::content, value -> value, bytes == null ? null : bytes.toByteArray());
      case ENUM:
        return enumeration(field, type);
      default:
        throw ProtobufTypes.unfit(field, type);
    }
  }

  /** What stands on the wire. */
  private interface Wire<T> {
    T read(ProtobufInput in) throws BadValue;
  }

  /** What a row holds. */
  interface As<T> {
    Object of(T t) throws BadValue;
  }

  private static final class Scalar<T> implements ProtobufReader {
    private final Wire<T> wire;
    private final As<T> as;
    private final T absent;

    Scalar(Wire<T> wire, As<T> as, T absent) {
      this.wire = wire;
      this.as = as;
      this.absent = absent;
    }

    @Override
    public Object read(ProtobufInput in, Object before) throws BadValue {
      return as.of(wire.read(in));
    }

    @Override
    public Object absent() throws BadValue {
      return as.of(absent);
    }
  }

  private static Object defaultOf(FieldDescriptor field) {
    return field.isRepeated() ? null : field.getDefaultValue();
  }

  private static Long number(FieldDescriptor field) {
    Number value = (Number) defaultOf(field);
    if (value == null) {
      return null;
    }
    return isUnsigned32(field) ? Integer.toUnsignedLong(value.intValue()) : value.longValue();
  }

  private static UTF8String text(FieldDescriptor field) {
    return field.isRepeated() ? null : UTF8String.fromString((String) field.getDefaultValue());
  }

  private static void check(boolean fits, FieldDescriptor field, DataType type) {
    if (!fits) {
      throw ProtobufTypes.unfit(field, type);
    }
  }

  static boolean isUnsigned32(FieldDescriptor field) {
    return field.getType() == FieldDescriptor.Type.UINT32
        || field.getType() == FieldDescriptor.Type.FIXED32;
  }

  static boolean isUnsigned64(FieldDescriptor field) {
    return field.getType() == FieldDescriptor.Type.UINT64
        || field.getType() == FieldDescriptor.Type.FIXED64;
  }

  private static Wire<Long> integer(FieldDescriptor field) {
    switch (field.getType()) {
      case INT32:
        return in -> {
          long number = in.varint();
          if ((int) number != number) {
            throw BadValue.of(Long.toString(number), "an int32");
          }
          return number;
        };
      case UINT32:
        return in -> unsigned32(in, "a uint32");
      case SINT32:
        return in -> zigzag(unsigned32(in, "a sint32"));
      case INT64:
      case UINT64:
        return ProtobufInput::varint;
      case SINT64:
        return in -> zigzag(in.varint());
      case FIXED32:
        return in -> Integer.toUnsignedLong(in.fixed32());
      case SFIXED32:
        return in -> (long) in.fixed32();
      default:
        return ProtobufInput::fixed64;
    }
  }

  private static long unsigned32(ProtobufInput in, String expected) throws BadValue {
    long number = in.varint();
    if (number >>> 32 != 0) {
      throw BadValue.of(Long.toString(number), expected);
    }
    return number;
  }

  private static long zigzag(long number) {
    return number >>> 1 ^ -(number & 1);
  }

  private static As<Long> wholeAs(FieldDescriptor field, DataType type) {
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return isUnsigned64(field)
          ? value -> decimal(new BigDecimal(new BigInteger(Long.toUnsignedString(value))), decimal)
          : value -> decimal(BigDecimal.valueOf(value), decimal);
    }
    long most = most(field, type);
    As<Long> cast =
        type instanceof IntegerType
            ? value -> (int) (long) value
            : type instanceof ShortType
                ? value -> (short) (long) value
                : type instanceof ByteType ? value -> (byte) (long) value : value -> value;
    boolean unsigned = isUnsigned64(field);
    return value -> {
      if (value > most || value < ~most || unsigned && value < 0) {
        throw BadValue.of(
            unsigned ? Long.toUnsignedString(value) : value.toString(), Texts.a(type));
      }
      return cast.of(value);
    };
  }

  /** The greatest value of an integral type; the least is its complement. */
  static long most(FieldDescriptor field, DataType type) {
    if (type instanceof LongType) {
      return Long.MAX_VALUE;
    } else if (type instanceof IntegerType) {
      return Integer.MAX_VALUE;
    } else if (type instanceof ShortType) {
      return Short.MAX_VALUE;
    } else if (type instanceof ByteType) {
      return Byte.MAX_VALUE;
    }
    throw ProtobufTypes.unfit(field, type);
  }

  private static Decimal decimal(BigDecimal decimal, DecimalType type) throws BadValue {
    try {
      BigDecimal fitting = decimal.setScale(type.scale()); // throws if digits would be lost
      if (fitting.precision() <= type.precision()) {
        return Decimal.apply(fitting, type.precision(), type.scale());
      }
    } catch (ArithmeticException error) {
      // more digits than the type has
    }
    throw BadValue.of(decimal.toString(), Texts.a(type));
  }

  private static ProtobufReader floating(FieldDescriptor field, DataType type) {
    check(type instanceof FloatType || type instanceof DoubleType, field, type);
    As<Float> as = type instanceof FloatType ? value -> value : value -> (double) value;
    return new Scalar<>(in -> Float.intBitsToFloat(in.fixed32()), as, (Float) defaultOf(field));
  }

  static boolean bool(ProtobufInput in) throws BadValue {
    long number = in.varint();
    if (number >>> 1 != 0) {
      throw BadValue.of(Long.toString(number), "a bool");
    }
    return number == 1;
  }

  static UTF8String text(ProtobufInput in) throws BadValue {
    byte[] bytes = in.content();
    UTF8String text = UTF8String.fromBytes(bytes);
    for (byte character : bytes) {
      if (character < 0) {
        if (!text.isValid()) {
          throw new BadValue("the text is not UTF-8");
        }
        break;
      }
    }
    return text;
  }

  /**
   * Dates, decimals and local times have no type of Protobuf: they are texts, if a column says what
   * they hold.
   */
  private static As<UTF8String> textAs(FieldDescriptor field, DataType type) {
    if (type instanceof StringType) {
      return value -> value;
    } else if (type instanceof DateType) {
      return value -> Times.date(value.toString());
    } else if (type instanceof TimestampNTZType) {
      return value -> Times.local(value.toString());
    } else if (type instanceof DecimalType) {
      return value -> {
        try {
          BigDecimal number = new BigDecimal(value.toString());
          if (Math.abs((long) number.scale()) <= 1000) {
            return decimal(number, (DecimalType) type);
          }
        } catch (NumberFormatException error) {
          // said below
        }
        throw BadValue.of(value.toString(), Texts.a(type));
      };
    }
    throw ProtobufTypes.unfit(field, type);
  }

  /**
   * An unknown number is bad: a name for it would be invented, and NULL would mean that there is no
   * value.
   */
  private static ProtobufReader enumeration(FieldDescriptor field, DataType type) {
    EnumValueDescriptor first = (EnumValueDescriptor) defaultOf(field);
    Long absent = first == null ? null : (long) first.getNumber();
    Wire<Long> number =
        in -> {
          long count = in.varint();
          if ((int) count != count) {
            throw BadValue.of(
                Long.toString(count), "a number of enum " + field.getEnumType().getFullName());
          }
          return count;
        };
    if (!(type instanceof StringType)) {
      return new Scalar<>(number, wholeAs(field, type), absent);
    }
    Map<Long, UTF8String> names = new HashMap<>();
    for (EnumValueDescriptor constant : field.getEnumType().getValues()) {
      names.putIfAbsent((long) constant.getNumber(), UTF8String.fromString(constant.getName()));
    }
    return new Scalar<>(
        number,
        value -> {
          UTF8String name = names.get(value);
          if (name == null) {
            throw BadValue.of(
                value.toString(), "a number of enum " + field.getEnumType().getFullName());
          }
          return name;
        },
        absent);
  }
}
