package millstream.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
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

/** Reads scalars. A number that its own type or the column's can't hold is bad; runtimes of Protobuf cut it instead. */
final class ProtobufScalars {
  private ProtobufScalars() {}

  static ProtobufReader of(FieldDescriptor field, DataType type) {
    switch (field.getJavaType()) {
      case INT:
      case LONG:
        return new Scalar<>(whole(field), wholeAs(field, type), number(field));
      case FLOAT:
        return floating(field, type);
      case DOUBLE:
        check(type instanceof DoubleType, field, type);
        return new Scalar<>(in -> Double.longBitsToDouble(in.fixed64()), found -> found, (Double) defaultOf(field));
      case BOOLEAN:
        check(type instanceof BooleanType, field, type);
        return new Scalar<>(ProtobufScalars::bool, found -> found, (Boolean) defaultOf(field));
      case STRING:
        return new Scalar<>(ProtobufScalars::text, textAs(field, type), text(field));
      case BYTE_STRING:
        check(type instanceof BinaryType, field, type);
        ByteString bytes = (ByteString) defaultOf(field);
        return new Scalar<>(ProtobufInput::content, found -> found, bytes == null ? null : bytes.toByteArray());
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
    Object of(T found) throws BadValue;
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
    Number found = (Number) defaultOf(field);
    if (found == null) {
      return null;
    }
    return isUnsigned32(field) ? Integer.toUnsignedLong(found.intValue()) : found.longValue();
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
    return field.getType() == FieldDescriptor.Type.UINT32 || field.getType() == FieldDescriptor.Type.FIXED32;
  }

  static boolean isUnsigned64(FieldDescriptor field) {
    return field.getType() == FieldDescriptor.Type.UINT64 || field.getType() == FieldDescriptor.Type.FIXED64;
  }

  private static Wire<Long> whole(FieldDescriptor field) {
    switch (field.getType()) {
      case INT32:
        return in -> {
          long found = in.varint();
          if ((int) found != found) {
            throw BadValue.of(Long.toString(found), "an int32");
          }
          return found;
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
    long found = in.varint();
    if (found >>> 32 != 0) {
      throw BadValue.of(Long.toString(found), expected);
    }
    return found;
  }

  private static long zigzag(long found) {
    return found >>> 1 ^ -(found & 1);
  }

  private static As<Long> wholeAs(FieldDescriptor field, DataType type) {
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return isUnsigned64(field)
          ? found -> decimal(new BigDecimal(new BigInteger(Long.toUnsignedString(found))), decimal)
          : found -> decimal(BigDecimal.valueOf(found), decimal);
    }
    long most = most(field, type);
    As<Long> cast = type instanceof IntegerType ? found -> (int) (long) found
        : type instanceof ShortType ? found -> (short) (long) found
        : type instanceof ByteType ? found -> (byte) (long) found
        : found -> found;
    boolean unsigned = isUnsigned64(field);
    return found -> {
      if (found > most || found < ~most || unsigned && found < 0) {
        throw BadValue.of(unsigned ? Long.toUnsignedString(found) : found.toString(), Texts.a(type));
      }
      return cast.of(found);
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

  private static Decimal decimal(BigDecimal found, DecimalType type) throws BadValue {
    try {
      BigDecimal fitting = found.setScale(type.scale()); // throws if digits would be lost
      if (fitting.precision() <= type.precision()) {
        return Decimal.apply(fitting, type.precision(), type.scale());
      }
    } catch (ArithmeticException error) {
      // more digits than the type has
    }
    throw BadValue.of(found.toString(), Texts.a(type));
  }

  private static ProtobufReader floating(FieldDescriptor field, DataType type) {
    check(type instanceof FloatType || type instanceof DoubleType, field, type);
    As<Float> as = type instanceof FloatType ? found -> found : found -> (double) found;
    return new Scalar<>(in -> Float.intBitsToFloat(in.fixed32()), as, (Float) defaultOf(field));
  }

  static boolean bool(ProtobufInput in) throws BadValue {
    long found = in.varint();
    if (found >>> 1 != 0) {
      throw BadValue.of(Long.toString(found), "a bool");
    }
    return found == 1;
  }

  static UTF8String text(ProtobufInput in) throws BadValue {
    byte[] found = in.content();
    UTF8String text = UTF8String.fromBytes(found);
    for (byte each : found) {
      if (each < 0) {
        if (!text.isValid()) {
          throw new BadValue("the text is not UTF-8");
        }
        break;
      }
    }
    return text;
  }

  /** Dates, decimals and local times have no type of Protobuf: they are texts, if a column says what they hold. */
  private static As<UTF8String> textAs(FieldDescriptor field, DataType type) {
    if (type instanceof StringType) {
      return found -> found;
    } else if (type instanceof DateType) {
      return found -> Times.date(found.toString());
    } else if (type instanceof TimestampNTZType) {
      return found -> Times.local(found.toString());
    } else if (type instanceof DecimalType) {
      return found -> {
        try {
          BigDecimal number = new BigDecimal(found.toString());
          if (Math.abs((long) number.scale()) <= 1000) {
            return decimal(number, (DecimalType) type);
          }
        } catch (NumberFormatException error) {
          // said below
        }
        throw BadValue.of(found.toString(), Texts.a(type));
      };
    }
    throw ProtobufTypes.unfit(field, type);
  }

  /** An unknown number is bad: a name for it would be invented, and NULL would mean that there is no value. */
  private static ProtobufReader enumeration(FieldDescriptor field, DataType type) {
    EnumValueDescriptor first = (EnumValueDescriptor) defaultOf(field);
    Long absent = first == null ? null : (long) first.getNumber();
    Wire<Long> number = in -> {
      long found = in.varint();
      if ((int) found != found) {
        throw BadValue.of(Long.toString(found), "a number of enum " + field.getEnumType().getFullName());
      }
      return found;
    };
    if (!(type instanceof StringType)) {
      return new Scalar<>(number, wholeAs(field, type), absent);
    }
    Map<Long, UTF8String> names = new HashMap<>();
    for (EnumValueDescriptor each : field.getEnumType().getValues()) {
      names.putIfAbsent((long) each.getNumber(), UTF8String.fromString(each.getName()));
    }
    return new Scalar<>(number, found -> {
      UTF8String name = names.get(found);
      if (name == null) {
        throw BadValue.of(found.toString(), "a number of enum " + field.getEnumType().getFullName());
      }
      return name;
    }, absent);
  }
}
