package millstream.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.regex.Pattern;
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
 * Reads values without parts. What the bytes mean is what the writer's logical type says: a reader with another unit
 * or scale gets the same value, and one with another kind of logical type none.
 */
final class AvroScalars {
  private static final Pattern UUID = Pattern.compile("\\p{XDigit}{8}(-\\p{XDigit}{4}){3}-\\p{XDigit}{12}");
  private static final int LONGEST_DECIMAL = 16;
  private static final long DAY = 86_400_000_000L;

  private AvroScalars() {}

  static AvroReader of(Schema writer, Schema reader, DataType type) {
    AvroTypes.check(reader, type);
    AvroTypes.Logical wanted = AvroTypes.logical(reader);
    AvroTypes.Logical written = AvroTypes.logical(writer);
    if (wanted != AvroTypes.Logical.NONE && written != AvroTypes.Logical.NONE && wanted != written) {
      return AvroReader.unresolved(AvroTypes.why(writer, reader));
    }
    Schema meaning = written == AvroTypes.Logical.NONE ? reader : writer;
    switch (wanted) {
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
        return type instanceof LongType ? in -> (long) in.readInt()
            : type instanceof ShortType ? in -> (short) within(in.readInt(), Short.MIN_VALUE, Short.MAX_VALUE, type)
            : type instanceof ByteType ? in -> (byte) within(in.readInt(), Byte.MIN_VALUE, Byte.MAX_VALUE, type)
            : AvroInput::readInt;
      case LONG:
        return writer.getType() == Schema.Type.INT ? in -> (long) in.readInt() : AvroInput::readLong;
      case FLOAT:
        return type instanceof DoubleType ? in -> (double) single(writer, in) : in -> single(writer, in);
      case DOUBLE:
        return writer.getType() == Schema.Type.DOUBLE ? AvroInput::readDouble
            : writer.getType() == Schema.Type.FLOAT ? in -> (double) in.readFloat()
            : in -> whole(writer, in);
      case STRING:
        return AvroInput::readString;
      case BYTES:
        return AvroInput::readBytes;
      default:
        int size = writer.getFixedSize();
        return in -> in.readFixed(size);
    }
  }

  private static int within(int found, int least, int most, DataType type) throws BadValue {
    if (found < least || found > most) {
      throw BadValue.of(Integer.toString(found), Texts.a(type));
    }
    return found;
  }

  private static float single(Schema writer, AvroInput in) throws BadValue {
    if (writer.getType() == Schema.Type.FLOAT) {
      return in.readFloat();
    }
    long found = number(writer, in);
    float nearest = found;
    if ((long) nearest != found || nearest == 0x1p63f) {
      throw BadValue.of(Long.toString(found), "a float");
    }
    return nearest;
  }

  private static double whole(Schema writer, AvroInput in) throws BadValue {
    long found = number(writer, in);
    double nearest = found;
    if ((long) nearest != found || nearest == 0x1p63) {
      throw BadValue.of(Long.toString(found), "a double");
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

  static long timeOfDay(long found, boolean millis) throws BadValue {
    if (found < 0 || found >= (millis ? DAY / 1000 : DAY)) {
      throw BadValue.of(Long.toString(found), "a time of day in " + (millis ? "milliseconds" : "microseconds"));
    }
    return found;
  }

  private static Object timestamp(long found, boolean millis) throws BadValue {
    long factor = millis ? 1000 : 1;
    if (found < Times.FIRST / factor || found > Times.LAST / factor) {
      throw BadValue.of(Long.toString(found),
          "a timestamp of the years 1 to 9999 in " + (millis ? "milliseconds" : "microseconds"));
    }
    return found * factor;
  }

  static UTF8String uuid(UTF8String found) throws BadValue {
    if (found.numBytes() != 36 || !UUID.matcher(found.toString()).matches()) {
      throw BadValue.of(found.toString(), "a UUID");
    }
    return found;
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
    BigDecimal found = new BigDecimal(number, scale);
    try {
      BigDecimal fitting = found.setScale(type.scale()); // throws if digits would be lost
      if (fitting.precision() <= type.precision()) {
        return Decimal.apply(fitting, type.precision(), type.scale());
      }
    } catch (ArithmeticException error) {
      // more digits than the type has
    }
    throw BadValue.of(found.toPlainString(), Texts.a(type));
  }
}
