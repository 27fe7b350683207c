package millstream.spark;

import java.util.List;
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
  void write(SpecializedGetters from, int place, AvroOutput out) throws BadValue;

  static AvroWriter of(Schema schema, DataType type) {
    if (schema.getType() == Schema.Type.UNION) {
      return union(schema, type);
    }
    AvroWriter writer = present(schema, type);
    if (schema.getType() == Schema.Type.NULL) {
      return writer;
    }
    return (from, place, out) -> {
      if (from.isNullAt(place)) {
        throw new BadValue("NULL, but the schema has " + AvroTypes.named(schema) + ", not a union with null");
      }
      writer.write(from, place, out);
    };
  }

  private static AvroWriter present(Schema schema, DataType type) {
    switch (schema.getType()) {
      case ARRAY:
        AvroTypes.check(schema, type);
        AvroWriter element = of(schema.getElementType(), ((ArrayType) type).elementType());
        return (from, place, out) -> elements(from.getArray(place), element, out);
      case MAP:
        AvroTypes.check(schema, type);
        AvroWriter value = of(schema.getValueType(), ((MapType) type).valueType());
        return (from, place, out) -> entries(from.getMap(place), value, out);
      case RECORD:
        if (JsonTexts.holds(type)) {
          return AvroTexts.writer(schema);
        }
        AvroTypes.check(schema, type);
        Fields fields = new Fields(schema, (StructType) type);
        return (from, place, out) -> fields.writeAll(from.getStruct(place, fields.count), out);
      default:
        return AvroScalarWriter.of(schema, type);
    }
  }

  private static void elements(ArrayData found, AvroWriter element, AvroOutput out) throws BadValue {
    int count = found.numElements();
    if (count > 0) {
      out.writeLong(count);
      for (int i = 0; i < count; i++) {
        try {
          element.write(found, i, out);
        } catch (BadValue error) {
          throw error.in("[" + i + "]");
        }
      }
    }
    out.writeLong(0);
  }

  private static void entries(MapData found, AvroWriter value, AvroOutput out) throws BadValue {
    int count = found.numElements();
    if (count > 0) {
      out.writeLong(count);
      for (int i = 0; i < count; i++) {
        UTF8String key = found.keyArray().getUTF8String(i);
        out.writeString(key);
        try {
          value.write(found.valueArray(), i, out);
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
    return (from, place, out) -> {
      if (!from.isNullAt(place)) {
        present.write(from, place, out);
      } else if (none >= 0) {
        out.writeLong(none);
      } else {
        throw new BadValue("NULL, but the schema has a " + AvroTypes.named(union) + ", without null");
      }
    };
  }

  /** Writes all values as the same type of a union: of two numbers, the larger one. */
  private static AvroWriter oneOf(Schema union, DataType type) {
    int index = AvroTypes.largest(union);
    if (index < 0) {
      AvroTypes.check(union.getTypes().get(0), type);
      return (from, place, out) -> out.writeLong(0); // only null
    }
    AvroWriter writer = present(union.getTypes().get(index), type);
    return (from, place, out) -> {
      out.writeLong(index);
      writer.write(from, place, out);
    };
  }

  private static AvroWriter members(Schema union, DataType type) {
    AvroTypes.check(union, type);
    StructType struct = (StructType) type;
    List<String> names = List.of(struct.fieldNames());
    AvroWriter[] writers = new AvroWriter[names.size()];
    int[] indexes = new int[names.size()];
    for (int i = 0; i < union.getTypes().size(); i++) {
      int place = AvroTypes.isNull(union, i) ? -1 : names.indexOf("member" + AvroTypes.member(union, i));
      if (place >= 0) {
        writers[place] = present(union.getTypes().get(i), struct.apply(place).dataType());
        indexes[place] = i;
      }
    }
    return (from, place, out) -> {
      InternalRow row = from.getStruct(place, writers.length);
      int found = -1;
      for (int i = 0; i < writers.length; i++) {
        if (!row.isNullAt(i)) {
          if (found >= 0) {
            throw new BadValue("both " + names.get(found) + " and " + names.get(i) + " have a value");
          }
          found = i;
        }
      }
      if (found < 0) {
        throw new BadValue("none of " + String.join(", ", names) + " has a value");
      }
      out.writeLong(indexes[found]);
      try {
        writers[found].write(row, found, out);
      } catch (BadValue error) {
        throw error.in(names.get(found));
      }
    };
  }

  /** The fields of a record; those that are not columns get their default. */
  final class Fields {
    private final int count;
    private final String[] names;
    private final int[] places;
    private final AvroWriter[] writers;

    Fields(Schema schema, StructType type) {
      AvroTypes.check(schema, type);
      List<String> columns = List.of(type.fieldNames());
      count = columns.size();
      int fields = schema.getFields().size();
      names = new String[fields];
      places = new int[fields];
      writers = new AvroWriter[fields];
      for (int i = 0; i < fields; i++) {
        Schema.Field field = schema.getFields().get(i);
        names[i] = field.name();
        places[i] = columns.indexOf(field.name());
        writers[i] = places[i] < 0 ? standard(field) : writer(field, type.apply(places[i]).dataType());
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
        throw new AvroTypes.Mismatch("field " + field.name() + ": no column, and the schema has no default");
      }
      byte[] bytes = AvroRecord.encodedDefault(field);
      return (from, place, out) -> out.writeFixed(bytes);
    }

    void writeAll(InternalRow row, AvroOutput out) throws BadValue {
      for (int i = 0; i < writers.length; i++) {
        try {
          writers[i].write(row, places[i], out);
        } catch (BadValue error) {
          throw error.in(names[i]);
        }
      }
    }
  }
}
