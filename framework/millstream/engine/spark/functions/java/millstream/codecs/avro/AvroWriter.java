package millstream.codecs.avro;

import java.util.List;
import millstream.codecs.BadValue;
import millstream.codecs.json.JsonTexts;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes the value at a place of a row or an array, which may be NULL. */
interface AvroWriter {
  void write(SpecializedGetters from, int index, AvroOutput out) throws BadValue;

  static AvroWriter of(Schema schema, DataType type) {
    if (schema.getType() == Schema.Type.UNION) {
      return union(schema, type);
    }
    AvroWriter writer = present(schema, type);
    if (schema.getType() == Schema.Type.NULL) {
      return writer;
    }
    return (from, index, out) -> {
      if (from.isNullAt(index)) {
        throw new BadValue(
            "NULL, but the schema has " + AvroTypes.named(schema) + ", not a union with null");
      }
      writer.write(from, index, out);
    };
  }

  private static AvroWriter present(Schema schema, DataType type) {
    switch (schema.getType()) {
      case ARRAY:
        AvroTypes.check(schema, type);
        AvroWriter element = of(schema.getElementType(), ((ArrayType) type).elementType());
        return (from, index, out) -> elements(from.getArray(index), element, out);
      case MAP:
        AvroTypes.check(schema, type);
        AvroWriter value = of(schema.getValueType(), ((MapType) type).valueType());
        return (from, index, out) -> entries(from.getMap(index), value, out);
      case RECORD:
        if (JsonTexts.holds(type)) {
          return AvroTexts.writer(schema);
        }
        AvroTypes.check(schema, type);
        Fields fields = new Fields(schema, (StructType) type);
        return (from, index, out) -> fields.writeAll(from.getStruct(index, fields.count), out);
      default:
        return AvroScalarWriter.of(schema, type);
    }
  }

  private static void elements(ArrayData array, AvroWriter element, AvroOutput out)
      throws BadValue {
    int count = array.numElements();
    if (count > 0) {
      out.writeLong(count);
      for (int i = 0; i < count; i++) {
        try {
          element.write(array, i, out);
        } catch (BadValue error) {
          throw error.in("[" + i + "]");
        }
      }
    }
    out.writeLong(0);
  }

  private static void entries(MapData map, AvroWriter value, AvroOutput out) throws BadValue {
    int count = map.numElements();
    if (count > 0) {
      out.writeLong(count);
      for (int i = 0; i < count; i++) {
        UTF8String key = map.keyArray().getUTF8String(i);
        out.writeString(key);
        try {
          value.write(map.valueArray(), i, out);
        } catch (BadValue error) {
          throw error.in(key.toString());
        }
      }
    }
    out.writeLong(0);
  }

  private static AvroWriter union(Schema union, DataType type) {
    int none = union.getIndexNamed("null") == null ? -1 : union.getIndexNamed("null");
    AvroWriter present = AvroTypes.isStruct(union) ? members(union, type) : oneOf(union, type);
    return (from, index, out) -> {
      if (!from.isNullAt(index)) {
        present.write(from, index, out);
      } else if (none >= 0) {
        out.writeLong(none);
      } else {
        throw new BadValue(
            "NULL, but the schema has a " + AvroTypes.named(union) + ", without null");
      }
    };
  }

  /** Writes all values as the same type of a union: of two numbers, the larger one. */
  private static AvroWriter oneOf(Schema union, DataType type) {
    int branch = AvroTypes.largest(union);
    if (branch < 0) {
      AvroTypes.check(union.getTypes().get(0), type);
      return (from, index, out) -> out.writeLong(0); // only null
    }
    AvroWriter writer = present(union.getTypes().get(branch), type);
    return (from, index, out) -> {
      out.writeLong(branch);
      writer.write(from, index, out);
    };
  }

  private static AvroWriter members(Schema union, DataType type) {
    AvroTypes.check(union, type);
    StructType struct = (StructType) type;
    List<String> names = List.of(struct.fieldNames());
    AvroWriter[] writers = new AvroWriter[names.size()];
    int[] indexes = new int[names.size()];
    for (int i = 0; i < union.getTypes().size(); i++) {
      int index =
          AvroTypes.isNull(union, i) ? -1 : names.indexOf("member" + AvroTypes.member(union, i));
      if (index >= 0) {
        writers[index] = present(union.getTypes().get(i), struct.apply(index).dataType());
        indexes[index] = i;
      }
    }
    return (from, index, out) -> {
      InternalRow row = from.getStruct(index, writers.length);
      int member = -1;
      for (int i = 0; i < writers.length; i++) {
        if (!row.isNullAt(i)) {
          if (member >= 0) {
            throw new BadValue(
                "both " + names.get(member) + " and " + names.get(i) + " have a value");
          }
          member = i;
        }
      }
      if (member < 0) {
        throw new BadValue("none of " + String.join(", ", names) + " has a value");
      }
      out.writeLong(indexes[member]);
      try {
        writers[member].write(row, member, out);
      } catch (BadValue error) {
        throw error.in(names.get(member));
      }
    };
  }

  /** The fields of a record; those that are not columns get their default. */
  final class Fields {
    private final int count;
    private final String[] names;
    private final int[] positions;
    private final AvroWriter[] writers;

    Fields(Schema schema, StructType type) {
      AvroTypes.check(schema, type);
      List<String> columns = List.of(type.fieldNames());
      count = columns.size();
      int fields = schema.getFields().size();
      names = new String[fields];
      positions = new int[fields];
      writers = new AvroWriter[fields];
      for (int i = 0; i < fields; i++) {
        Schema.Field field = schema.getFields().get(i);
        names[i] = field.name();
        positions[i] = columns.indexOf(field.name());
        writers[i] =
            positions[i] < 0 ? standard(field) : writer(field, type.apply(positions[i]).dataType());
      }
    }

    private static AvroWriter writer(Schema.Field field, DataType type) {
      try {
        return of(field.schema(), type);
      } catch (AvroTypes.Mismatch error) {
        throw error.in(field.name());
      }
    }

    private static AvroWriter standard(Schema.Field field) {
      if (!field.hasDefaultValue()) {
        throw new AvroTypes.Mismatch(
            "field " + field.name() + ": no column, and the schema has no default");
      }
      byte[] bytes = AvroRecord.encodedDefault(field);
      return (from, index, out) -> out.writeFixed(bytes);
    }

    void writeAll(InternalRow row, AvroOutput out) throws BadValue {
      for (int i = 0; i < writers.length; i++) {
        try {
          writers[i].write(row, positions[i], out);
        } catch (BadValue error) {
          throw error.in(names[i]);
        }
      }
    }
  }
}
