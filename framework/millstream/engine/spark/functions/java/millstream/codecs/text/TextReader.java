package millstream.codecs.text;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.regex.Pattern;
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
import org.apache.spark.sql.types.TimestampType;

/** Reads a text as a type, for formats in which all values are texts. */
public interface TextReader {
  Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");
  Pattern NUMBER = Pattern.compile("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,9})?");

  Object read(String text) throws BadValue;

  static TextReader of(DataType type, ZoneId zone) {
    if (type instanceof StringType) {
      return text -> Texts.utf8(text.toCharArray(), 0, text.length());
    } else if (type instanceof LongType) {
      return text -> integer(text, type, Long.MIN_VALUE, Long.MAX_VALUE);
    } else if (type instanceof IntegerType) {
      return text -> (int) integer(text, type, Integer.MIN_VALUE, Integer.MAX_VALUE);
    } else if (type instanceof ShortType) {
      return text -> (short) integer(text, type, Short.MIN_VALUE, Short.MAX_VALUE);
    } else if (type instanceof ByteType) {
      return text -> (byte) integer(text, type, Byte.MIN_VALUE, Byte.MAX_VALUE);
    } else if (type instanceof DoubleType) {
      return text -> number(text, type);
    } else if (type instanceof FloatType) {
      return text -> single(text, type);
    } else if (type instanceof BooleanType) {
      return TextReader::bool;
    } else if (type instanceof DecimalType) {
      return text -> decimal(text, (DecimalType) type);
    } else if (type instanceof DateType) {
      return Times::date;
    } else if (type instanceof TimestampType) {
      return text -> Times.timestamp(text, zone);
    } else if (type instanceof TimestampNTZType) {
      return Times::local;
    } else if (type instanceof BinaryType) {
      return text -> text.getBytes(StandardCharsets.UTF_8);
    }
    throw new IllegalArgumentException("no reader of texts for " + type.sql());
  }

  private static long integer(String text, DataType type, long least, long most) throws BadValue {
    if (INTEGER.matcher(text).matches()) {
      try {
        long number = Long.parseLong(text);
        if (number >= least && number <= most) {
          return number;
        }
      } catch (NumberFormatException error) {
        // more than 64 bits
      }
    }
    throw BadValue.of(text, Texts.a(type));
  }

  private static double number(String text, DataType type) throws BadValue {
    if (NUMBER.matcher(text).matches()) {
      double real = Double.parseDouble(text);
      if (!Double.isInfinite(real)) {
        return real;
      }
      throw BadValue.of(text, Texts.a(type));
    }
    return special(text, type);
  }

  private static float single(String text, DataType type) throws BadValue {
    if (NUMBER.matcher(text).matches()) {
      float number = Float.parseFloat(text);
      if (!Float.isInfinite(number)) {
        return number;
      }
      throw BadValue.of(text, Texts.a(type));
    }
    return (float) special(text, type);
  }

  /** Returns what is not a number, by the names that Spark and Java write. */
  static double special(String text, DataType type) throws BadValue {
    switch (text) {
      case "NaN":
        return Double.NaN;
      case "Infinity":
      case "+Infinity":
      case "Inf":
      case "+INF":
        return Double.POSITIVE_INFINITY;
      case "-Infinity":
      case "-Inf":
      case "-INF":
        return Double.NEGATIVE_INFINITY;
      default:
        throw BadValue.of(text, Texts.a(type));
    }
  }

  private static Object bool(String text) throws BadValue {
    if (text.equalsIgnoreCase("true")) {
      return true;
    }
    if (text.equalsIgnoreCase("false")) {
      return false;
    }
    throw BadValue.of(text, "true or false");
  }

  private static Decimal decimal(String text, DecimalType type) throws BadValue {
    if (!NUMBER.matcher(text).matches()) {
      throw BadValue.of(text, Texts.a(type));
    }
    return exact(new BigDecimal(text), text, type);
  }

  /** Returns a number as a decimal of a type, if that has all of its digits. */
  static Decimal exact(BigDecimal number, String text, DecimalType type) throws BadValue {
    if (Math.abs((long) number.scale()) <= 1000) {
      try {
        BigDecimal fitting = number.setScale(type.scale()); // throws if digits would be lost
        if (fitting.precision() <= type.precision()) {
          return Decimal.apply(fitting, type.precision(), type.scale());
        }
      } catch (ArithmeticException error) {
        // more digits than the type has
      }
    }
    throw BadValue.of(text, Texts.a(type));
  }
}
