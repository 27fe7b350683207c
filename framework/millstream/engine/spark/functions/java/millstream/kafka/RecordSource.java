package millstream.kafka;

import java.io.Serializable;
import java.util.Iterator;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.sql.catalyst.InternalRow;

/** What the records of a partition's rows are. */
public interface RecordSource extends Serializable {
  void forEach(Iterator<InternalRow> rows, Consumer<ProducerRecord<byte[], byte[]>> send);
}
