package millstream.spark;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.stream.Collectors;
import millstream.codecs.Registry;
import millstream.kafka.RecordSizes;
import millstream.kafka.Transaction;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.state.RocksDBMemoryManager;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import org.apache.spark.util.Utils$;

/** What a command leaves in a JVM, outside of its Spark context. */
final class WarmState {
  private static final String DELTA = "org.apache.spark.sql.delta.DeltaLog";
  private static final String PRODUCERS =
      "org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$";
  private static final String TRANSACTIONS = "millstream.kafka.Transaction";
  private static final String SIZES = "millstream.kafka.RecordSizes";
  private static final String QUERY = "stream execution thread";

  private WarmState() {}

  /** Stops Spark, and forgets everything but code that was compiled. */
  static void forget() throws ReflectiveOperationException, IOException {
    if (StateStore$.MODULE$.isMaintenanceRunning()) {
      // `stop` holds a lock that the thread's work needs, and would wait for that for 5 minutes.
      StateStore$.MODULE$.stopMaintenanceTaskWithoutLock();
    }
    StateStore$.MODULE$.stop();
    if (SparkEnv.get() != null) { // otherwise it would start one to stop it
      SparkContext.getOrCreate().stop();
    }
    SparkSession.clearActiveSession();
    SparkSession.clearDefaultSession();
    if (isLoaded(TRANSACTIONS)) { // also without Kafka's jars
      Transaction.forget();
    }
    if (isLoaded(SIZES)) {
      RecordSizes.forget();
    }
    Registry.forget();
    Host.forget();
    VersionSource.forget();
    TransactionalSink.forget();
    FirstRows.forget();
    RocksDBMemoryManager.resetWriteBufferManagerAndCache();
    Utils$.MODULE$.clearLocalRootDirs();
    if (isLoaded(DELTA)) {
      Class.forName(DELTA).getMethod("clearCache").invoke(null);
    }
    if (isLoaded(PRODUCERS)) {
      forgetProducers();
    }
    FileSystem.closeAll();
  }

  private static void forgetProducers() throws ReflectiveOperationException {
    Class<?> pools = Class.forName(PRODUCERS);
    Method pool = pools.getDeclaredMethod("pool");
    pool.setAccessible(true);
    Object producers = pool.invoke(pools.getField("MODULE$").get(null));
    producers.getClass().getMethod("reset").invoke(producers);
  }

  private static boolean isLoaded(String name) throws ReflectiveOperationException {
    Method find = ClassLoader.class.getDeclaredMethod("findLoadedClass", String.class);
    find.setAccessible(true);
    return find.invoke(ClassLoader.getSystemClassLoader(), name) != null;
  }

  /** Says what of a command still runs: this JVM is then no longer used. */
  static String left() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && thread.getName().startsWith(QUERY))
        .map(Thread::getName)
        .collect(Collectors.joining(", "));
  }
}
