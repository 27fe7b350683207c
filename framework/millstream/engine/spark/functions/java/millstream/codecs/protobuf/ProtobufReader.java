package millstream.codecs.protobuf;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import millstream.codecs.BadValue;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/**
 * Reads the occurrences of a field, one after the other: of a scalar, the last counts; messages are
 * merged; elements and entries are added. The state in between is its own.
 */
interface ProtobufReader {
  /** Returns the state after one more value of the field; {@code before} is null at the first. */
  Object read(ProtobufInput in, Object before) throws BadValue;

  /** Returns Spark's value of the last state. */
  default Object finish(Object state) throws BadValue {
    return state;
  }

  /** Returns Spark's value of a field that a message doesn't contain. */
  default Object absent() throws BadValue {
    return null;
  }

  static ProtobufReader of(FieldDescriptor field, DataType type) {
    if (field.isMapField()) {
      if (!(type instanceof MapType)) {
        throw ProtobufTypes.unfit(field, type);
      }
      return new Entries(field.getMessageType(), (MapType) type);
    }
    if (field.isRepeated()) {
      if (!(type instanceof ArrayType)) {
        throw ProtobufTypes.unfit(field, type);
      }
      return new Elements(single(field, ((ArrayType) type).elementType()));
    }
    return single(field, type);
  }

  static ProtobufReader single(FieldDescriptor field, DataType type) {
    return ProtobufTypes.isMessage(field)
        ? ProtobufMessages.of(field, type)
        : ProtobufScalars.of(field, type);
  }

  /** The elements of a repeated field. */
  final class Elements implements ProtobufReader {
    private static final GenericArrayData NONE = new GenericArrayData(new Object[0]);
    private final ProtobufReader reader;

    Elements(ProtobufReader reader) {
      this.reader = reader;
    }

    @Override
    public Object read(ProtobufInput in, Object before) throws BadValue {
      @SuppressWarnings("unchecked")
      List<Object> elements = before == null ? new ArrayList<>() : (List<Object>) before;
      try {
        elements.add(reader.finish(reader.read(in, null)));
      } catch (BadValue error) {
        throw error.in("[" + elements.size() + "]");
      }
      return elements;
    }

    @Override
    public Object finish(Object state) {
      return new GenericArrayData(((List<?>) state).toArray());
    }

    @Override
    public Object absent() {
      return NONE;
    }
  }

  /** The entries of a map; of equal keys, the last counts. */
  final class Entries implements ProtobufReader {
    private static final ArrayBasedMapData NONE =
        new ArrayBasedMapData(Elements.NONE, Elements.NONE);
    private final ProtobufFields fields;

    Entries(Descriptor entry, MapType type) {
      fields =
          new ProtobufFields(
              entry,
              new String[] {"key", "value"},
              new DataType[] {type.keyType(), type.valueType()});
    }

    @Override
    public Object read(ProtobufInput in, Object before) throws BadValue {
      @SuppressWarnings("unchecked")
      Map<Object, Object> entries =
          before == null ? new LinkedHashMap<>() : (Map<Object, Object>) before;
      Object[] entry = fields.start();
      int outer = in.enter();
      fields.read(in, entry);
      in.leave(outer);
      fields.finish(entry);
      entries.put(entry[0], entry[1]);
      return entries;
    }

    @Override
    public Object finish(Object state) {
      Map<?, ?> entries = (Map<?, ?>) state;
      return new ArrayBasedMapData(
          new GenericArrayData(entries.keySet().toArray()),
          new GenericArrayData(entries.values().toArray()));
    }

    @Override
    public Object absent() {
      return NONE;
    }
  }
}
