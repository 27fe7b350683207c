package millstream.rows;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Passes the first row of each position: a sender with a partition of its input, and an offset
 * there. Rows without an offset all pass.
 *
 * <p>The state has a bit for each offset, in pages: Kafka numbers the records of a partition one by
 * one, so a page of seen offsets is dense. No bit is ever removed, hence it does not matter how
 * late a record is repeated.
 */
public final class Positions extends StatefulProcessor<String, Row, Row> {
  private static final int BITS = 13;
  private static final int MASK = (1 << BITS) - 1;

  private final String offset;
  private transient MapState<Long, byte[]> stored;

  private Positions(String offset) {
    this.offset = offset;
  }

  /**
   * Returns a stream without rows whose position came before, in its columns `group` and `offset`.
   */
  public static Dataset<Row> first(Dataset<Row> rows, String group, String offset, String mode) {
    OutputMode output = mode.equals("append") ? OutputMode.Append() : OutputMode.Update();
    return rows.groupBy(group)
        .as(Encoders.STRING(), rows.encoder())
        .transformWithState(new Positions(offset), TimeMode.None(), output, rows.encoder());
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    stored =
        getHandle().getMapState("positions", Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  public scala.collection.Iterator<Row> handleInputRows(
      String group, scala.collection.Iterator<Row> rows, TimerValues times) {
    return CollectionConverters.asScala(new FirstRows(CollectionConverters.asJava(rows)));
  }

  /**
   * The rows of a group in a batch that come for the first time; at their end, it stores the pages
   * that changed.
   */
  private final class FirstRows implements Iterator<Row> {
    private final Iterator<Row> input;
    private final Map<Long, byte[]> pages = new HashMap<>();
    private final Map<Long, byte[]> changed = new HashMap<>();
    private Row next;

    FirstRows(Iterator<Row> input) {
      this.input = input;
    }

    @Override
    public boolean hasNext() {
      while (next == null && input.hasNext()) {
        Row row = input.next();
        int index = row.fieldIndex(offset);
        if (row.isNullAt(index) || isFirst(row.getLong(index))) {
          next = row;
        }
      }
      if (next == null) {
        changed.forEach(stored::updateValue);
        changed.clear();
      }
      return next != null;
    }

    @Override
    public Row next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Row row = next;
      next = null;
      return row;
    }

    private boolean isFirst(long position) {
      long number = position >>> BITS;
      byte[] page = pages.computeIfAbsent(number, this::page);
      int index = (int) (position & MASK);
      int bit = 1 << (index & 7);
      if ((page[index >>> 3] & bit) != 0) {
        return false;
      }
      page[index >>> 3] |= (byte) bit;
      changed.put(number, page);
      return true;
    }

    private byte[] page(long number) {
      return stored.containsKey(number) ? stored.getValue(number) : new byte[1 << (BITS - 3)];
    }
  }
}
