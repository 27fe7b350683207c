package millstream.codecs.avro;

import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import millstream.codecs.BadValue;
import millstream.codecs.json.JsonTexts;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/** Records that are within a record of their own type: texts of JSON. */
final class AvroTexts {
  /** Readers and writers that are being made, which contain themselves. */
  private static final ThreadLocal<Map<Object, Object>> OPEN =
      ThreadLocal.withInitial(IdentityHashMap::new);

  /** How deep Python reads them, too. */
  private static final int DEEPEST = 100;

  private AvroTexts() {}

  static AvroReader reader(Resolver.RecordAdjust action) {
    Text open = (Text) OPEN.get().get(action);
    if (open != null) {
      return open;
    }
    Text text = new Text();
    text.type = typeOf(action.reader);
    OPEN.get().put(action, text);
    try {
      text.record = new AvroRecord(action, text.type);
    } finally {
      OPEN.get().remove(action);
    }
    return text;
  }

  private static final class Text implements AvroReader {
    private StructType type;
    private AvroRecord record;

    @Override
    public Object read(AvroInput in) throws BadValue {
      in.enter(DEEPEST);
      Object[] row = record.read(in);
      in.leave();
      return JsonTexts.write(new GenericInternalRow(row), type);
    }
  }

  static AvroWriter writer(Schema schema) {
    AvroWriter open = (AvroWriter) OPEN.get().get(schema);
    if (open != null) {
      return open;
    }
    StructType type = typeOf(schema);
    JsonTexts.Reader reader = new JsonTexts.Reader(type);
    AvroWriter.Fields[] fields = new AvroWriter.Fields[1];
    AvroWriter writer =
        (from, index, out) -> fields[0].writeAll(reader.read(from.getUTF8String(index)), out);
    OPEN.get().put(schema, writer);
    try {
      fields[0] = new AvroWriter.Fields(schema, type);
    } finally {
      OPEN.get().remove(schema);
    }
    return writer;
  }

  /** Returns the type of a record's text. */
  private static StructType typeOf(Schema record) {
    return (StructType) typeOf(record, new HashSet<>());
  }

  private static DataType typeOf(Schema schema, Set<String> around) {
    switch (schema.getType()) {
      case RECORD:
        if (!around.add(schema.getFullName())) {
          return DataTypes.VariantType;
        }
        StructType row = new StructType();
        for (Schema.Field field : schema.getFields()) {
          row = row.add(field.name(), typeOf(field.schema(), around), true);
        }
        around.remove(schema.getFullName());
        return row;
      case UNION:
        return union(schema, around);
      case ARRAY:
        return DataTypes.createArrayType(typeOf(schema.getElementType(), around), true);
      case MAP:
        return DataTypes.createMapType(
            DataTypes.StringType, typeOf(schema.getValueType(), around), true);
      default:
        return scalar(schema);
    }
  }

  private static DataType union(Schema union, Set<String> around) {
    if (!AvroTypes.isStruct(union)) {
      int index = AvroTypes.largest(union);
      return index < 0 ? DataTypes.NullType : typeOf(union.getTypes().get(index), around);
    }
    StructType members = new StructType();
    for (int i = 0; i < union.getTypes().size(); i++) {
      if (!AvroTypes.isNull(union, i)) {
        members =
            members.add(
                "member" + AvroTypes.member(union, i),
                typeOf(union.getTypes().get(i), around),
                true);
      }
    }
    return members;
  }

  private static DataType scalar(Schema schema) {
    switch (AvroTypes.logical(schema)) {
      case DATE:
        return DataTypes.DateType;
      case TIMESTAMP:
        return DataTypes.TimestampType;
      case LOCAL_TIMESTAMP:
        return DataTypes.TimestampNTZType;
      case DECIMAL:
        LogicalTypes.Decimal decimal = AvroTypes.decimal(schema);
        return new DecimalType(decimal.getPrecision(), decimal.getScale());
      default:
    }
    switch (schema.getType()) {
      case NULL:
        return DataTypes.NullType;
      case BOOLEAN:
        return DataTypes.BooleanType;
      case INT:
        return DataTypes.IntegerType;
      case LONG:
        return DataTypes.LongType;
      case FLOAT:
        return DataTypes.FloatType;
      case DOUBLE:
        return DataTypes.DoubleType;
      case BYTES:
      case FIXED:
        return DataTypes.BinaryType;
      default:
        return DataTypes.StringType;
    }
  }
}
