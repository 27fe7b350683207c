package millstream.codecs.avro;

import java.time.ZoneId;
import java.util.List;
import millstream.codecs.BadColumns;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes the key of a change in Avro: a record with the columns of the table's key. The only field
 * is a struct of these columns, or the value of the only one.
 */
public final class DebeziumAvroKey extends DebeziumAvroFormat {
  private static final long serialVersionUID = 1;

  public DebeziumAvroKey(StructType fields, ZoneId zone, List<String> settings) {
    super(fields, zone, settings);
  }

  @Override
  protected DebeziumWriters.Resolved resolved() {
    Schema row = writers.reader();
    StructField field = fields.apply(0);
    StructType columns =
        row.getFields().size() > 1
            ? (StructType) field.dataType()
            : new StructType()
                .add(row.getFields().get(0).name(), field.dataType(), field.nullable());
    DebeziumValues values = new DebeziumValues(row, columns, zone);
    return action -> {
      DebeziumValues.Rows rows = values.rows(action);
      return in -> {
        Object[] key = rows.read(in);
        in.end();
        return key(key);
      };
    };
  }

  private Object[] key(Object[] columns) {
    BadColumns bad = (BadColumns) columns[columns.length - 1];
    boolean isStruct = writers.reader().getFields().size() > 1;
    Object key =
        isStruct
            ? new GenericInternalRow(java.util.Arrays.copyOf(columns, columns.length - 1))
            : columns[0];
    return new Object[] {bad == null ? key : null, bad};
  }
}
