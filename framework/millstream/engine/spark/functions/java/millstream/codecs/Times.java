package millstream.codecs;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * Dates and times of years 1 to 9999, as Spark casts them from texts that have a whole date: not
 * {@code 12:30}.
 */
public final class Times {
  private static final long MICROS = 1_000_000L;
  public static final int FIRST_DAY = -719162;
  public static final int LAST_DAY = 2932896;
  public static final long FIRST = FIRST_DAY * 86_400L * MICROS;
  public static final long LAST = (LAST_DAY + 1) * 86_400L * MICROS - 1;

  private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}");

  private Times() {}

  public static Integer date(String text) throws BadValue {
    Option<Object> result =
        DATE.matcher(text).matches()
            ? DateTimeUtils.stringToDate(UTF8String.fromString(text))
            : Option.empty();
    if (result.isEmpty() || (int) result.get() < FIRST_DAY || (int) result.get() > LAST_DAY) {
      throw BadValue.of(text, "a date");
    }
    return (Integer) result.get();
  }

  public static Long timestamp(String text, ZoneId zone) throws BadValue {
    return checked(
        text,
        DATE.matcher(text).lookingAt()
            ? DateTimeUtils.stringToTimestamp(UTF8String.fromString(text), zone)
            : Option.empty(),
        "a timestamp");
  }

  public static Long local(String text) throws BadValue {
    return checked(
        text,
        DATE.matcher(text).lookingAt()
            ? DateTimeUtils.stringToTimestampWithoutTimeZone(UTF8String.fromString(text), false)
            : Option.empty(),
        "a timestamp without time zone");
  }

  public static Long ofSeconds(long seconds) throws BadValue {
    if (seconds < FIRST / MICROS || seconds > LAST / MICROS) {
      throw BadValue.of(Long.toString(seconds), "a timestamp in seconds since 1970");
    }
    return seconds * MICROS;
  }

  /** Writes a date as it is read: yyyy-mm-dd. */
  public static String text(int day) throws BadValue {
    String text = LocalDate.ofEpochDay(day).toString();
    if (day < FIRST_DAY || day > LAST_DAY) {
      throw BadValue.of(text, "a date of years 1 to 9999");
    }
    return text;
  }

  /**
   * Writes a local time as it is read: yyyy-mm-ddThh:mm:ss, and the microseconds if there are any,
   * as Python does.
   */
  public static String localText(long micros) throws BadValue {
    LocalDateTime time = DateTimeUtils.microsToLocalDateTime(micros);
    if (micros < FIRST || micros > LAST) {
      throw BadValue.of(time.toString(), "a timestamp of years 1 to 9999");
    }
    String text = DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(time.withNano(0));
    return time.getNano() == 0 ? text : String.format("%s.%06d", text, time.getNano() / 1000);
  }

  private static Long checked(String text, Option<Object> result, String expected) throws BadValue {
    if (result.isEmpty() || (long) result.get() < FIRST || (long) result.get() > LAST) {
      throw BadValue.of(text, expected);
    }
    return (Long) result.get();
  }
}
