package millstream.python;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoField;

/** Python's dates and times, which have years from 1 to 9999. Times are in UTC. */
public final class PythonTimes {
  private static final long SECOND = 1_000_000;

  private PythonTimes() {}

  static LocalDate date(int days) {
    LocalDate result = LocalDate.ofEpochDay(days);
    check(result.getYear());
    return result;
  }

  static LocalDateTime time(long micros) {
    int nanos = (int) Math.floorMod(micros, SECOND) * 1000;
    LocalDateTime dateTime =
        LocalDateTime.ofEpochSecond(Math.floorDiv(micros, SECOND), nanos, ZoneOffset.UTC);
    check(dateTime.getYear());
    return dateTime;
  }

  private static void check(int year) {
    if (year < 1 || year > 9999) {
      throw new Unfit("an argument has the year " + year);
    }
  }

  static long micros(LocalDateTime time) {
    return time.toEpochSecond(ZoneOffset.UTC) * SECOND + time.get(ChronoField.MICRO_OF_SECOND);
  }

  /** {@code time.timestamp()}. */
  public static double timestamp(Object time) {
    return PythonNumbers.divide(micros((LocalDateTime) time), SECOND, "");
  }
}
