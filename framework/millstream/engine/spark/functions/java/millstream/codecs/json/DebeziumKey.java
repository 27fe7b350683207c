package millstream.codecs.json;

import java.io.IOException;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import millstream.codecs.Texts;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes the key of a change: an object with the columns of the table's key, with or without its
 * schema. The only field is a struct of these columns, or the value of the only one.
 */
public final class DebeziumKey implements Decoder.Format {
  private final StructType fields;
  private final ZoneId zone;
  private final String timestamps;
  private final String decimals;
  private transient DebeziumRows rows;
  private transient String only;

  public DebeziumKey(StructType fields, ZoneId zone, List<String> settings) {
    this.fields = fields;
    this.zone = zone;
    this.timestamps = settings.get(0);
    this.decimals = settings.get(1);
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    Texts.checkUtf8(value, 0);
    try (DebeziumRecord record = new DebeziumRecord(value)) {
      Object[] columns = rows(record.first).of(record, false).read(record.parser, record.first);
      record.end();
      return new Object[] {isStruct() ? new GenericInternalRow(columns) : columns[0], null};
    } catch (IOException error) {
      throw new BadValue("not JSON: " + JsonReader.firstLine(error));
    }
  }

  private boolean isStruct() {
    return fields.apply(0).dataType() instanceof StructType;
  }

  /** Returns what reads a key; the name of its only column is that of its first field. */
  private DebeziumRows rows(String first) throws BadValue {
    if (first == null) {
      throw new BadValue("the key has no columns");
    }
    StructField field = fields.apply(0);
    if (rows == null || !(isStruct() || first.equals(only))) {
      StructType type =
          field.dataType() instanceof StructType several
              ? several
              : new StructType().add(first, field.dataType(), field.nullable());
      rows = new DebeziumRows(type, zone, timestamps, decimals, !isStruct());
      only = first;
    }
    return rows;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DebeziumKey
        && fields.equals(((DebeziumKey) other).fields)
        && zone.equals(((DebeziumKey) other).zone)
        && timestamps.equals(((DebeziumKey) other).timestamps)
        && decimals.equals(((DebeziumKey) other).decimals);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, timestamps, decimals);
  }
}
