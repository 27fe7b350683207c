package millstream.spark;

import java.util.HashMap;
import java.util.Iterator;
import millstream.kafka.RecordSource;
import millstream.kafka.Records;
import millstream.kafka.Several;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.kafka010.KafkaSourceProvider$;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;

/**
 * Writes records to Kafka as Spark's own sink does, by the same producers, which all tasks of a
 * process share; but also with timestamps, and a header of the batch that need not be added to the
 * rows.
 */
public final class RecordSink implements CreatableRelationProvider {
  @Override
  public BaseRelation createRelation(
      SQLContext context,
      SaveMode mode,
      scala.collection.immutable.Map<String, String> options,
      Dataset<Row> data) {
    send(data, Records.of(data.schema(), options), options);
    return new Written(context);
  }

  static void send(
      Dataset<Row> data,
      RecordSource records,
      scala.collection.immutable.Map<String, String> options) {
    ((org.apache.spark.sql.classic.Dataset<Row>) data)
        .queryExecution()
        .toRdd()
        .toJavaRDD()
        .foreachPartition(new Task(producer(options), records));
  }

  /** Returns the settings of the producers that Spark's options for its sink describe. */
  static HashMap<String, Object> producer(scala.collection.immutable.Map<String, String> options) {
    return new HashMap<>(
        KafkaSourceProvider$.MODULE$.kafkaParamsForProducer(
            CaseInsensitiveMap$.MODULE$.apply(options)));
  }

  private record Task(HashMap<String, Object> settings, RecordSource records)
      implements VoidFunction<Iterator<InternalRow>> {
    @Override
    public void call(Iterator<InternalRow> rows) {
      SharedProducer.send(
          settings,
          sending -> {
            Several several = new Several(sending);
            records.forEach(rows, several);
            several.send();
          });
    }
  }
}
