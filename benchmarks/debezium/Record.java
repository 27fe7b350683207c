import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Runs an embedded connector of Debezium until it has captured a row with a text, and writes a line
 * of JSON for each record: its key and value as Kafka Connect's JSON converter writes them, and, if
 * AVRO_DATA names the class of a converter to Avro, as that writes them.
 *
 * <p>Arguments: the file of the connector's settings, the file to write, the text.
 */
public final class Record {
  private static final JsonConverter KEYS = converter(true);
  private static final JsonConverter VALUES = converter(false);
  private static final Object AVRO = avro(System.getenv("AVRO_DATA"));

  private Record() {}

  public static void main(String[] arguments) throws Exception {
    Properties settings = new Properties();
    try (Reader file = Files.newBufferedReader(Path.of(arguments[0]))) {
      settings.load(file);
    }
    CountDownLatch done = new CountDownLatch(1);
    try (PrintStream out = new PrintStream(arguments[1], StandardCharsets.UTF_8)) {
      DebeziumEngine<ChangeEvent<SourceRecord, SourceRecord>> engine =
          DebeziumEngine.create(Connect.class)
              .using(settings)
              .using((success, message, error) -> {
                System.err.println(message);
                done.countDown();
              })
              .notifying((records, committer) -> {
                for (ChangeEvent<SourceRecord, SourceRecord> event : records) {
                  String line = line(event.value());
                  out.println(line);
                  out.flush();
                  committer.markProcessed(event);
                  if (line.contains(arguments[2])) {
                    done.countDown();
                  }
                }
                committer.markBatchFinished();
              })
              .build();
      ExecutorService thread = Executors.newSingleThreadExecutor();
      thread.execute(engine);
      done.await(10, TimeUnit.MINUTES);
      engine.close();
      thread.shutdown();
      thread.awaitTermination(1, TimeUnit.MINUTES);
    }
    System.exit(0);
  }

  private static String line(SourceRecord record) {
    String topic = record.topic();
    return "{\"topic\": \"" + topic + "\""
        + ", \"key\": " + json(KEYS, topic, record.keySchema(), record.key())
        + ", \"value\": " + json(VALUES, topic, record.valueSchema(), record.value())
        + ", \"avro_key\": " + avro(record.keySchema(), record.key())
        + ", \"avro_value\": " + avro(record.valueSchema(), record.value()) + "}";
  }

  private static JsonConverter converter(boolean isKey) {
    JsonConverter converter = new JsonConverter();
    converter.configure(Map.of("schemas.enable", "true"), isKey);
    return converter;
  }

  private static String json(JsonConverter converter, String topic, Schema schema, Object value) {
    return value == null
        ? "null"
        : new String(converter.fromConnectData(topic, schema, value), StandardCharsets.UTF_8);
  }

  private static Object avro(String name) {
    try {
      return name == null
          ? null
          : Class.forName(name).getConstructor(int.class).newInstance(1000);
    } catch (ReflectiveOperationException error) {
      throw new IllegalArgumentException(error);
    }
  }

  private static String avro(Schema schema, Object value) {
    if (AVRO == null || value == null) {
      return "null";
    }
    try {
      var converted =
          (org.apache.avro.Schema)
              AVRO.getClass().getMethod("fromConnectSchema", Schema.class).invoke(AVRO, schema);
      Object datum =
          AVRO.getClass()
              .getMethod("fromConnectData", Schema.class, Object.class)
              .invoke(AVRO, schema, value);
      var bytes = new ByteArrayOutputStream();
      var encoder = org.apache.avro.io.EncoderFactory.get().directBinaryEncoder(bytes, null);
      new org.apache.avro.generic.GenericDatumWriter<>(converted).write(datum, encoder);
      encoder.flush();
      String text = Base64.getEncoder().encodeToString(bytes.toByteArray());
      return "{\"schema\": " + converted + ", \"bytes\": \"" + text + "\"}";
    } catch (ReflectiveOperationException | java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
