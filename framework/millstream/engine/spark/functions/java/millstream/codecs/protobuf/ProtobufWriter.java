package millstream.codecs.protobuf;

import millstream.codecs.BadValue;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;

/**
 * Writes a value that is not NULL, which stands at a place of a row, an array or a map, with all of
 * its tags.
 */
interface ProtobufWriter {
  void write(ProtobufOutput out, SpecializedGetters from, int index) throws BadValue;

  static ProtobufWriter of(FieldDescriptor field, DataType type) {
    if (field.isMapField()) {
      if (!(type instanceof MapType)) {
        throw ProtobufTypes.unfit(field, type);
      }
      return entries(field, (MapType) type);
    }
    if (field.isRepeated()) {
      if (!(type instanceof ArrayType)) {
        throw ProtobufTypes.unfit(field, type);
      }
      DataType element = ((ArrayType) type).elementType();
      return field.isPacked() ? packed(field, element) : elements(tagged(field, element));
    }
    ProtobufWriter writer = tagged(field, type);
    if (field.hasPresence()) {
      return writer;
    }
    ProtobufWriter content = content(field, type);
    return (out, from, index) -> {
      int size = out.size();
      content.write(out, from, index);
      if (out.isZeroSince(size)) { // the default is not written
        out.backTo(size);
      } else {
        out.tag(field.getNumber(), ProtobufTypes.wireType(field));
      }
    };
  }

  /** Writes a value without a tag. */
  private static ProtobufWriter content(FieldDescriptor field, DataType type) {
    return ProtobufTypes.isMessage(field)
        ? ProtobufRows.of(field, type)
        : ProtobufValues.of(field, type);
  }

  private static ProtobufWriter tagged(FieldDescriptor field, DataType type) {
    ProtobufWriter content = content(field, type);
    int number = field.getNumber();
    if (field.getType() == FieldDescriptor.Type.GROUP) {
      return (out, from, index) -> {
        out.tag(number, ProtobufInput.END_GROUP);
        content.write(out, from, index);
        out.tag(number, ProtobufInput.GROUP);
      };
    }
    int wireType = ProtobufTypes.wireType(field);
    return (out, from, index) -> {
      content.write(out, from, index);
      out.tag(number, wireType);
    };
  }

  private static ProtobufWriter elements(ProtobufWriter element) {
    return (out, from, index) -> {
      ArrayData array = from.getArray(index);
      for (int i = array.numElements() - 1; i >= 0; i--) {
        try {
          notNull(array, i);
          element.write(out, array, i);
        } catch (BadValue error) {
          throw error.in("[" + i + "]");
        }
      }
    };
  }

  private static ProtobufWriter packed(FieldDescriptor field, DataType type) {
    ProtobufWriter elements = elements(content(field, type));
    return (out, from, index) -> {
      int size = out.size();
      elements.write(out, from, index);
      if (out.size() > size) {
        out.varint(out.size() - size);
        out.tag(field.getNumber(), ProtobufInput.LENGTH);
      }
    };
  }

  private static ProtobufWriter entries(FieldDescriptor field, MapType type) {
    ProtobufWriter key = tagged(field.getMessageType().findFieldByNumber(1), type.keyType());
    ProtobufWriter value = tagged(field.getMessageType().findFieldByNumber(2), type.valueType());
    return (out, from, index) -> {
      MapData map = from.getMap(index);
      ArrayData keys = map.keyArray();
      ArrayData values = map.valueArray();
      for (int i = map.numElements() - 1; i >= 0; i--) {
        int size = out.size();
        try {
          notNull(values, i);
          value.write(out, values, i);
          key.write(out, keys, i);
        } catch (BadValue error) {
          throw error.in(String.valueOf(keys.get(i, type.keyType())));
        }
        out.varint(out.size() - size);
        out.tag(field.getNumber(), ProtobufInput.LENGTH);
      }
    };
  }

  private static void notNull(ArrayData array, int index) throws BadValue {
    if (array.isNullAt(index)) {
      throw new BadValue("NULL, which repeated fields and maps can't hold");
    }
  }
}
