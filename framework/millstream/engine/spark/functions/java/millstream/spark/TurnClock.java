package millstream.spark;

import java.lang.reflect.Field;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.util.Clock;
import org.apache.spark.util.SystemClock;

/**
 * The clock of a running query, which lets a batch begin when it is due and the query has its turn.
 *
 * <p>Spark chooses the records of a batch as it begins. A batch that waited for its turn later
 * would leave out all records that arrive meanwhile.
 */
public final class TurnClock implements Clock {
  /** Where a query waits for its turn. */
  public interface Turns {
    /** Gives back the turn of a batch that had nothing to do. */
    void end();

    /** Waits for a turn; returns false if the query is about to be stopped. */
    boolean begin();
  }

  private static final long LOOK = 2;

  private final Clock clock = new SystemClock();
  private final Turns turns;

  private TurnClock(Turns turns) {
    this.turns = turns;
  }

  /** Lets all batches of a query but the first wait for their turns before they begin. */
  public static void set(StreamingQueryWrapper query, Turns turns)
      throws ReflectiveOperationException, InterruptedException {
    StreamExecution execution = query.streamingQuery();
    while (execution.isActive()) {
      if (execution instanceof MicroBatchExecution batches && batches.triggerExecutor() != null) {
        Field clock = ProcessingTimeExecutor.class.getDeclaredField("clock");
        clock.setAccessible(true);
        clock.set(batches.triggerExecutor(), new TurnClock(turns));
        return;
      }
      Thread.sleep(LOOK);
    }
  }

  @Override
  public long getTimeMillis() {
    return clock.getTimeMillis();
  }

  @Override
  public long nanoTime() {
    return clock.nanoTime();
  }

  @Override
  public long waitTillTime(long millis) {
    turns.end();
    long now = clock.waitTillTime(millis);
    return turns.begin() ? now : clock.waitTillTime(Long.MAX_VALUE);
  }
}
