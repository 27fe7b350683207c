package millstream.codecs.avro;

import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes the key of a change in Avro: a record with the columns of the table's key. The only field
 * is a struct of these columns, or the value of the only one.
 */
public final class DebeziumAvroKey implements Decoder.Format {
  private static final long serialVersionUID = 1;
  private final StructType fields;
  private final ZoneId zone;
  private final DebeziumWriters writers;
  private transient DebeziumValues values;

  public DebeziumAvroKey(StructType fields, ZoneId zone, List<String> settings) {
    this.fields = fields;
    this.zone = zone;
    writers = new DebeziumWriters(settings);
    prepare();
  }

  private void prepare() {
    Schema row = writers.reader();
    StructField field = fields.apply(0);
    StructType columns =
        row.getFields().size() > 1
            ? (StructType) field.dataType()
            : new StructType()
                .add(row.getFields().get(0).name(), field.dataType(), field.nullable());
    values = new DebeziumValues(row, columns, zone);
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (values == null) {
      prepare();
    }
    return writers.read(
        value,
        action -> {
          DebeziumValues.Rows rows = values.rows(action);
          return in -> {
            Object[] row = rows.read(in);
            in.end();
            return key(row);
          };
        });
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

  @Override
  public boolean equals(Object other) {
    return other instanceof DebeziumAvroKey that
        && fields.equals(that.fields)
        && zone.equals(that.zone)
        && writers.equals(that.writers);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, writers);
  }
}
