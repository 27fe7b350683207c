package millstream.codecs.avro;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.regex.Pattern;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.Times;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads values without parts. What the bytes mean is what the writer's logical type says: a reader
 * with another unit or scale gets the same value, and one with another kind of logical type none.
 */
final class AvroScalars {
  private static final Pattern UUID =
      Pattern.compile("\\p{XDigit}{8}(-\\p{XDigit}{4}){3}-\\p{XDigit}{12}");
  private static final int LONGEST_DECIMAL = 16;
  private static final long DAY = 86_400_000_000L;

  private AvroScalars() {}

  static AvroReader of(Schema writer, Schema reader, DataType type) {
    AvroTypes.check(reader, type);
    AvroTypes.Logical expected = AvroTypes.logical(reader);
    AvroTypes.Logical written = AvroTypes.logical(writer);
    if (expected != AvroTypes.Logical.NONE
        && written != AvroTypes.Logical.NONE
        && expected != written) {
      return AvroReader.unresolved(AvroTypes.why(writer, reader));
    }
    Schema meaning = written == AvroTypes.Logical.NONE ? reader : writer;
    switch (expected) {
      case DATE:
        return in -> date(in.readInt());
      case TIME:
        return time(meaning, writer, reader);
      case TIMESTAMP:
      case LOCAL_TIMESTAMP:
        boolean millis = AvroTypes.inMillis(meaning);
        return in -> timestamp(in.readLong(), millis);
      case DECIMAL:
        return decimal(meaning, writer, (DecimalType) type);
      case UUID:
        return in -> uuid(in.readString());
      default:
        return plain(writer, reader, type);
    }
  }

  private static AvroReader plain(Schema writer, Schema reader, DataType type) {
    switch (reader.getType()) {
      case NULL:
        return in -> null;
      case BOOLEAN:
        return AvroInput::readBoolean;
      case INT:
        return type instanceof LongType
            ? in -> (long) in.readInt()
            : type instanceof ShortType
                ? in -> (short) within(in.readInt(), Short.MIN_VALUE, Short.MAX_VALUE, type)
                : type instanceof ByteType
                    ? in -> (byte) within(in.readInt(), Byte.MIN_VALUE, Byte.MAX_VALUE, type)
                    : AvroInput::readInt;
      case LONG:
        return writer.getType() == Schema.Type.INT
            ? in -> (long) in.readInt()
            : AvroInput::readLong;
      case FLOAT:
        return type instanceof DoubleType
            ? in -> (double) single(writer, in)
            : in -> single(writer, in);
      case DOUBLE:
        return writer.getType() == Schema.Type.DOUBLE
            ? AvroInput::readDouble
            : writer.getType() == Schema.Type.FLOAT
                ? in -> (double) in.readFloat()
                : in -> integer(writer, in);
      case STRING:
        return AvroInput::readString;
      case BYTES:
        return AvroInput::readBytes;
      default:
        int size = writer.getFixedSize();
        return in -> in.readFixed(size);
    }
  }

  private static int within(int number, int least, int most, DataType type) throws BadValue {
    if (number < least || number > most) {
      throw BadValue.of(Integer.toString(number), Texts.a(type));
    }
    return number;
  }

  private static float single(Schema writer, AvroInput in) throws BadValue {
    if (writer.getType() == Schema.Type.FLOAT) {
      return in.readFloat();
    }
    long count = number(writer, in);
    float nearest = count;
    if ((long) nearest != count || nearest == 0x1p63f) {
      throw BadValue.of(Long.toString(count), "a float");
    }
    return nearest;
  }

  private static double integer(Schema writer, AvroInput in) throws BadValue {
    long count = number(writer, in);
    double nearest = count;
    if ((long) nearest != count || nearest == 0x1p63) {
      throw BadValue.of(Long.toString(count), "a double");
    }
    return nearest;
  }

  private static long number(Schema writer, AvroInput in) throws BadValue {
    return writer.getType() == Schema.Type.INT ? in.readInt() : in.readLong();
  }

  private static Object date(int days) throws BadValue {
    if (days < Times.FIRST_DAY || days > Times.LAST_DAY) {
      throw BadValue.of(Integer.toString(days), "a date of the years 1 to 9999");
    }
    return days;
  }

  /** Times have no type in Spark: they stay numbers, in the unit of the reader's schema. */
  private static AvroReader time(Schema meaning, Schema writer, Schema reader) {
    boolean millis = AvroTypes.inMillis(meaning);
    if (AvroTypes.inMillis(reader)) {
      return in -> (int) timeOfDay(in.readInt(), true);
    }
    return in -> timeOfDay(number(writer, in), millis) * (millis ? 1000 : 1);
  }

  static long timeOfDay(long number, boolean millis) throws BadValue {
    if (number < 0 || number >= (millis ? DAY / 1000 : DAY)) {
      throw BadValue.of(
          Long.toString(number), "a time of day in " + (millis ? "milliseconds" : "microseconds"));
    }
    return number;
  }

  private static Object timestamp(long number, boolean millis) throws BadValue {
    long factor = millis ? 1000 : 1;
    if (number < Times.FIRST / factor || number > Times.LAST / factor) {
      throw BadValue.of(
          Long.toString(number),
          "a timestamp of the years 1 to 9999 in " + (millis ? "milliseconds" : "microseconds"));
    }
    return number * factor;
  }

  static UTF8String uuid(UTF8String text) throws BadValue {
    if (text.numBytes() != 36 || !UUID.matcher(text.toString()).matches()) {
      throw BadValue.of(text.toString(), "a UUID");
    }
    return text;
  }

  private static AvroReader decimal(Schema meaning, Schema writer, DecimalType type) {
    int written = AvroTypes.decimal(meaning).getScale();
    int size = writer.getType() == Schema.Type.FIXED ? writer.getFixedSize() : -1;
    return in -> decimal(size < 0 ? in.readBytes() : in.readFixed(size), written, type);
  }

  private static Decimal decimal(byte[] bytes, int scale, DecimalType type) throws BadValue {
    if (bytes.length == 0) {
      throw new BadValue("a decimal has no bytes");
    }
    BigInteger number = new BigInteger(bytes);
    if (number.bitLength() > 8 * LONGEST_DECIMAL) {
      throw new BadValue("a number of " + number.bitLength() + " bits is not " + Texts.a(type));
    }
    BigDecimal value = new BigDecimal(number, scale);
    try {
      BigDecimal fitting = value.setScale(type.scale()); // throws if digits would be lost
      if (fitting.precision() <= type.precision()) {
        return Decimal.apply(fitting, type.precision(), type.scale());
      }
    } catch (ArithmeticException error) {
      // more digits than the type has
    }
    throw BadValue.of(value.toPlainString(), Texts.a(type));
  }
}
