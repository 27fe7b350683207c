package millstream.codecs.protobuf;

import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import millstream.codecs.BadValue;
import millstream.codecs.json.JsonTexts;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/** Messages that are within a message of their own type: texts of JSON. */
final class ProtobufTexts {
  /** Readers and writers that are being made, which contain themselves. */
  private static final ThreadLocal<Map<FieldDescriptor, Object>> OPEN =
      ThreadLocal.withInitial(IdentityHashMap::new);

  private ProtobufTexts() {}

  static ProtobufReader reader(FieldDescriptor field) {
    Text open = (Text) OPEN.get().get(field);
    if (open != null) {
      return open;
    }
    Text text = new Text();
    text.type = typeOf(field);
    OPEN.get().put(field, text);
    try {
      text.message = ProtobufMessages.of(field, text.type);
    } finally {
      OPEN.get().remove(field);
    }
    return text;
  }

  private static final class Text implements ProtobufReader {
    private StructType type;
    private ProtobufReader message;

    @Override
    public Object read(ProtobufInput in, Object before) throws BadValue {
      return message.read(in, before);
    }

    @Override
    public Object finish(Object state) throws BadValue {
      return JsonTexts.write((InternalRow) message.finish(state), type);
    }

    @Override
    public Object absent() throws BadValue {
      return JsonTexts.write((InternalRow) message.absent(), type);
    }
  }

  static ProtobufWriter writer(FieldDescriptor field) {
    ProtobufWriter open = (ProtobufWriter) OPEN.get().get(field);
    if (open != null) {
      return open;
    }
    StructType type = typeOf(field);
    JsonTexts.Reader reader = new JsonTexts.Reader(type);
    ProtobufWriter[] message = new ProtobufWriter[1];
    ProtobufWriter writer =
        (out, from, index) -> {
          Object[] row = {reader.read(from.getUTF8String(index))};
          message[0].write(out, new GenericInternalRow(row), 0);
        };
    OPEN.get().put(field, writer);
    try {
      message[0] = ProtobufRows.of(field, type);
    } finally {
      OPEN.get().remove(field);
    }
    return writer;
  }

  /** Returns the type of the text of a field's message. */
  private static StructType typeOf(FieldDescriptor field) {
    return typeOf(field.getMessageType(), new HashSet<>());
  }

  private static StructType typeOf(Descriptor message, Set<String> around) {
    around.add(message.getFullName());
    StructType row = new StructType();
    for (FieldDescriptor field : message.getFields()) {
      DataType type = typeOf(field, around);
      if (type != null) {
        row = row.add(field.getName(), type, true);
      }
    }
    around.remove(message.getFullName());
    return row;
  }

  private static DataType typeOf(FieldDescriptor field, Set<String> around) {
    if (field.isMapField()) {
      DataType key = single(field.getMessageType().findFieldByNumber(1), around);
      DataType value = single(field.getMessageType().findFieldByNumber(2), around);
      return value == null ? null : DataTypes.createMapType(key, value, true);
    }
    DataType single = single(field, around);
    return field.isRepeated() && single != null ? DataTypes.createArrayType(single, true) : single;
  }

  /** Returns null for messages without fields, which have no columns. */
  private static DataType single(FieldDescriptor field, Set<String> around) {
    if (!ProtobufTypes.isMessage(field)) {
      return scalar(field);
    }
    String name = ProtobufTypes.messageName(field);
    if (name.equals("google.protobuf.Timestamp")) {
      return DataTypes.TimestampType;
    } else if (ProtobufJson.isJson(name)) {
      return DataTypes.VariantType;
    } else if (ProtobufTypes.isWrapper(name)) {
      return scalar(field.getMessageType().findFieldByNumber(1));
    } else if (around.contains(name)) {
      return DataTypes.VariantType;
    }
    StructType inner =
        typeOf(field.getMessageType(), around); // a duration is a message like any other
    return inner.isEmpty() ? null : inner;
  }

  private static DataType scalar(FieldDescriptor field) {
    switch (field.getType()) {
      case DOUBLE:
        return DataTypes.DoubleType;
      case FLOAT:
        return DataTypes.FloatType;
      case UINT64:
      case FIXED64:
        return new DecimalType(20, 0);
      case INT64:
      case SINT64:
      case SFIXED64:
      case UINT32:
      case FIXED32:
        return DataTypes.LongType;
      case INT32:
      case SINT32:
      case SFIXED32:
        return DataTypes.IntegerType;
      case BOOL:
        return DataTypes.BooleanType;
      case BYTES:
        return DataTypes.BinaryType;
      default:
        return DataTypes.StringType;
    }
  }
}
