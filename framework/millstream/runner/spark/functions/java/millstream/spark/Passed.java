package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A condition that always holds: it passes each record of a topic on to the guest of its query, if there is one now. */
public final class Passed implements ScalarFunction<Boolean> {
  /** The columns of Spark's source for Kafka; headers are there on request. */
  static final List<String> COLUMNS = List.of("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers");

  private final StructType columns;
  private final Place place;
  private transient Object[] record;
  private transient Guest.Task task;

  Passed(StructType columns, Place place) {
    this.columns = columns;
    this.place = place;
  }

  /** Where a guest's work is between the start of a batch and its tasks, which have copies of it. */
  static final class Place implements Serializable {
    volatile Guest.Work work;
  }

  /** Called by generated code, which looks for it in this class alone. */
  public boolean invoke(byte[] key, byte[] value, UTF8String topic, int partition, long offset, long time, int type) {
    return place.work == null || passed(key, value, topic, partition, offset, time, type, null);
  }

  /** Called by generated code for records with headers. */
  public boolean invoke(
      byte[] key, byte[] value, UTF8String topic, int partition, long offset, long time, int type, ArrayData headers) {
    return place.work == null || passed(key, value, topic, partition, offset, time, type, headers);
  }

  private boolean passed(
      byte[] key, byte[] value, UTF8String topic, int partition, long offset, long time, int type, ArrayData headers) {
    if (task == null) {
      task = place.work.begin(TaskContext.get());
      record = new Object[COLUMNS.size()];
    }
    record[0] = key;
    record[1] = value;
    record[2] = topic;
    record[3] = partition;
    record[4] = offset;
    record[5] = time;
    record[6] = type;
    record[7] = headers;
    task.add(record);
    return true;
  }

  @Override
  public Boolean produceResult(InternalRow row) {
    return invoke(
        row.getBinary(0), row.getBinary(1), row.getUTF8String(2), row.getInt(3), row.getLong(4), row.getLong(5), row.getInt(6),
        columns.length() > 7 ? row.getArray(7) : null);
  }

  @Override
  public DataType[] inputTypes() {
    return Arrays.stream(columns.fields()).map(StructField::dataType).toArray(DataType[]::new);
  }

  @Override
  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public String name() {
    return "passed";
  }
}
