package millstream.spark;

import java.time.ZoneId;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/** Dates and times of years 1 to 9999, as Spark casts them from texts. */
final class Times {
  private static final long MICROS = 1_000_000L;
  static final int FIRST_DAY = -719162;
  static final int LAST_DAY = 2932896;
  static final long FIRST = FIRST_DAY * 86_400L * MICROS;
  static final long LAST = (LAST_DAY + 1) * 86_400L * MICROS - 1;

  private Times() {}

  static Integer date(String text) throws BadValue {
    Option<Object> found = startsWithYear(text) ? DateTimeUtils.stringToDate(UTF8String.fromString(text)) : Option.empty();
    if (found.isEmpty() || (int) found.get() < FIRST_DAY || (int) found.get() > LAST_DAY) {
      throw BadValue.of(text, "a date");
    }
    return (Integer) found.get();
  }

  static Long timestamp(String text, ZoneId zone) throws BadValue {
    return checked(text, startsWithYear(text)
        ? DateTimeUtils.stringToTimestamp(UTF8String.fromString(text), zone) : Option.empty(), "a timestamp");
  }

  static Long local(String text) throws BadValue {
    return checked(text, startsWithYear(text)
        ? DateTimeUtils.stringToTimestampWithoutTimeZone(UTF8String.fromString(text), false) : Option.empty(),
        "a timestamp without time zone");
  }

  static Long ofSeconds(long seconds) throws BadValue {
    if (seconds < FIRST / MICROS || seconds > LAST / MICROS) {
      throw BadValue.of(Long.toString(seconds), "a timestamp in seconds since 1970");
    }
    return seconds * MICROS;
  }

  private static Long checked(String text, Option<Object> found, String expected) throws BadValue {
    if (found.isEmpty() || (long) found.get() < FIRST || (long) found.get() > LAST) {
      throw BadValue.of(text, expected);
    }
    return (Long) found.get();
  }

  /** Spark reads `12:30` as today's time, which depends on the day on which a record is read. */
  private static boolean startsWithYear(String text) {
    String digits = text.strip();
    if (digits.length() < 4) {
      return false;
    }
    for (int i = 0; i < 4; i++) {
      if (!Character.isDigit(digits.charAt(i))) {
        return false;
      }
    }
    return true;
  }
}
