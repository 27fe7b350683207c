package millstream.codecs.avro;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.ZoneId;
import java.util.List;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import millstream.codecs.ChangeColumns;
import millstream.codecs.Texts;
import millstream.codecs.Times;
import millstream.codecs.text.TextReader;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The columns of a table in a record of Avro. Some are written in a way for which Avro has no
 * logical type: these are read as they are written, and converted.
 */
final class DebeziumValues {
  private static final StructType SCALED =
      StructType.fromDDL("scale int not null, value binary not null");
  private static final BigInteger LARGEST_SCALE = BigInteger.valueOf(100_000);

  /** Converts a value that is not null. */
  private interface Conversion {
    Object of(Object value) throws BadValue;
  }

  private final StructType columns;
  private final StructType written;
  private final Conversion[] conversions;

  DebeziumValues(Schema row, StructType columns, ZoneId zone) {
    this.columns = columns;
    conversions = new Conversion[columns.length()];
    StructType types = new StructType();
    for (int i = 0; i < conversions.length; i++) {
      StructField column = columns.apply(i);
      Schema.Field field = row.getField(column.name());
      if (field == null) {
        throw new AvroTypes.Mismatch("the schema has no field " + column.name());
      }
      Schema schema = withoutNull(field.schema());
      types = types.add(column.name(), written(schema, column.dataType()));
      conversions[i] = conversion(schema, column.dataType(), zone);
    }
    written = types;
  }

  /** Returns the only type of a union besides null; another schema as it is. */
  static Schema withoutNull(Schema schema) {
    List<Schema> types = schema.isUnion() ? schema.getTypes() : List.of(schema);
    List<Schema> others =
        types.stream().filter(type -> type.getType() != Schema.Type.NULL).toList();
    return others.size() == 1 ? others.get(0) : schema;
  }

  private static String meaning(Schema schema) {
    String name = schema.getProp("connect.name");
    return name == null ? "" : name;
  }

  private static DataType written(Schema schema, DataType type) {
    if (type instanceof ArrayType array && schema.getType() == Schema.Type.ARRAY) {
      Schema items = withoutNull(schema.getElementType());
      return new ArrayType(written(items, array.elementType()), true);
    }
    return switch (meaning(schema)) {
      case "io.debezium.data.VariableScaleDecimal" -> SCALED;
      case "io.debezium.time.NanoTimestamp" -> DataTypes.LongType;
      case "io.debezium.time.ZonedTimestamp",
          "io.debezium.time.IsoTimestamp",
          "io.debezium.time.IsoDate" ->
          DataTypes.StringType;
      default -> type;
    };
  }

  /** Returns null if a value stays as it is written. */
  private static Conversion conversion(Schema schema, DataType type, ZoneId zone) {
    if (type instanceof ArrayType array && schema.getType() == Schema.Type.ARRAY) {
      DataType element = array.elementType();
      Schema items = withoutNull(schema.getElementType());
      Conversion inner = conversion(items, element, zone);
      return inner == null ? null : value -> elements(value, written(items, element), inner);
    }
    switch (meaning(schema)) {
      case "io.debezium.data.VariableScaleDecimal":
        return DebeziumValues::scaled;
      case "io.debezium.time.NanoTimestamp":
        return value -> nanos((Long) value, type);
      case "io.debezium.time.ZonedTimestamp":
      case "io.debezium.time.IsoTimestamp":
      case "io.debezium.time.IsoDate":
        TextReader reader = TextReader.of(type, zone);
        return value -> reader.read(ChangeColumns.available(value).toString());
      default:
        return type instanceof StringType || type instanceof BinaryType
            ? ChangeColumns::available
            : null;
    }
  }

  private static Object elements(Object value, DataType type, Conversion inner) throws BadValue {
    Object[] elements = ((ArrayData) value).toObjectArray(type);
    for (int i = 0; i < elements.length; i++) {
      try {
        elements[i] = elements[i] == null ? null : inner.of(elements[i]);
      } catch (BadValue error) {
        throw error.in("[" + i + "]");
      }
    }
    return new GenericArrayData(elements);
  }

  /** A number whose digits after the point are not limited is the text of all its digits. */
  private static Object scaled(Object value) throws BadValue {
    InternalRow parts = (InternalRow) value;
    BigInteger scale = BigInteger.valueOf(parts.getInt(0));
    byte[] digits = parts.getBinary(1);
    if (digits.length == 0 || scale.abs().compareTo(LARGEST_SCALE) > 0) {
      throw new BadValue("no decimal has " + digits.length + " bytes and the scale " + scale);
    }
    BigDecimal number = new BigDecimal(new BigInteger(digits), scale.intValue());
    return UTF8String.fromString(number.toPlainString());
  }

  private static Object nanos(long nanos, DataType type) throws BadValue {
    long micros = Math.floorDiv(nanos, 1_000L);
    if (micros < Times.FIRST || micros > Times.LAST) {
      throw BadValue.of(Long.toString(nanos), Texts.a(type));
    }
    return micros;
  }

  /** Returns what reads a row, which may be null. */
  Rows rows(Resolver.Action action) {
    switch (action.type) {
      case WRITER_UNION:
        Rows[] branches =
            List.of(((Resolver.WriterUnion) action).actions).stream()
                .map(this::rows)
                .toArray(Rows[]::new);
        return in -> branches[in.readIndex(branches.length, "a type of the union")].read(in);
      case READER_UNION:
        return rows(((Resolver.ReaderUnion) action).actualAction);
      case DO_NOTHING:
        return in -> null;
      case RECORD:
        AvroRecord record = new AvroRecord((Resolver.RecordAdjust) action, written);
        return in -> converted(record.values(in));
      default:
        throw new org.apache.avro.AvroRuntimeException(
            AvroTypes.why((Resolver.ErrorAction) action));
    }
  }

  /** Reads the columns of a row, and the {@link BadColumns} among them, or null. */
  interface Rows {
    Object[] read(AvroInput in) throws BadValue;
  }

  /** Returns a row of which nothing is known. */
  Object[] missing() {
    return converted(new Object[conversions.length + 1]);
  }

  private Object[] converted(Object[] row) {
    BadColumns bad = (BadColumns) row[conversions.length];
    for (int i = 0; i < conversions.length; i++) {
      String name = columns.apply(i).name();
      if (row[i] != null && conversions[i] != null) {
        try {
          row[i] = conversions[i].of(row[i]);
        } catch (BadValue error) {
          bad = BadColumns.with(bad, name, error);
          row[i] = null;
        }
      } else if (row[i] == null && !columns.apply(i).nullable()) {
        bad = BadColumns.with(bad, name, new BadValue("the value is missing"));
      }
    }
    row[conversions.length] = bad;
    return row;
  }
}
