package millstream.codecs.avro;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import millstream.codecs.BadValue;
import millstream.codecs.json.JsonTexts;
import org.apache.avro.Resolver;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads what a writer's schema describes, as a value of Spark that a reader's schema describes. */
interface AvroReader {
  Object read(AvroInput in) throws BadValue;

  /**
   * Returns a reader by Avro's own resolution of the two schemas, which it returns as a tree of
   * actions.
   */
  static AvroReader of(Resolver.Action action, DataType type) {
    switch (action.type) {
      case DO_NOTHING:
      case PROMOTE:
        return AvroScalars.of(action.writer, action.reader, type);
      case ENUM:
        AvroTypes.check(action.reader, type);
        return new Symbols((Resolver.EnumAdjust) action);
      case CONTAINER:
        AvroTypes.check(action.reader, type);
        AvroReader inner = of(((Resolver.Container) action).elementAction, AvroTypes.inner(type));
        return type instanceof MapType ? new Entries(inner) : new Elements(inner);
      case RECORD:
        if (JsonTexts.holds(type)) {
          return AvroTexts.reader((Resolver.RecordAdjust) action);
        }
        AvroTypes.check(action.reader, type);
        AvroRecord record = new AvroRecord((Resolver.RecordAdjust) action, (StructType) type);
        return in -> {
          in.enter(); // as when it is skipped
          Object[] row = record.read(in);
          in.leave();
          return new GenericInternalRow(row);
        };
      case WRITER_UNION:
        return AvroUnions.written((Resolver.WriterUnion) action, type);
      case READER_UNION:
        Resolver.ReaderUnion union = (Resolver.ReaderUnion) action;
        return AvroUnions.member(union.reader, union.firstMatch, union.actualAction, type);
      default:
        return unresolved(AvroTypes.why((Resolver.ErrorAction) action));
    }
  }

  /** Avro finds some differences of schemas only when a value needs what they differ in. */
  static AvroReader unresolved(String why) {
    return in -> {
      throw new BadValue(why);
    };
  }

  /** The symbols of an enum as texts. */
  final class Symbols implements AvroReader {
    private final List<String> written;
    private final UTF8String[] texts;
    private final String name;

    Symbols(Resolver.EnumAdjust action) {
      written = action.writer.getEnumSymbols();
      name = action.reader.getName();
      texts = new UTF8String[written.size()];
      for (int i = 0; i < texts.length; i++) {
        int symbol = action.adjustments[i];
        texts[i] =
            symbol < 0 ? null : UTF8String.fromString(action.reader.getEnumSymbols().get(symbol));
      }
    }

    @Override
    public Object read(AvroInput in) throws BadValue {
      int index = in.readIndex(texts.length, "a symbol");
      if (texts[index] == null) {
        throw BadValue.of(written.get(index), "a symbol of " + name);
      }
      return texts[index];
    }
  }

  /** The elements of an array. */
  final class Elements implements AvroReader {
    private final AvroReader reader;

    Elements(AvroReader reader) {
      this.reader = reader;
    }

    @Override
    public Object read(AvroInput in) throws BadValue {
      List<Object> elements = new ArrayList<>();
      in.readBlocks(
          index -> {
            try {
              elements.add(reader.read(in));
            } catch (BadValue error) {
              throw error.in("[" + index + "]");
            }
          });
      return new GenericArrayData(elements.toArray());
    }
  }

  /** The entries of a map; of equal keys, the last counts. */
  final class Entries implements AvroReader {
    private final AvroReader reader;

    Entries(AvroReader reader) {
      this.reader = reader;
    }

    @Override
    public Object read(AvroInput in) throws BadValue {
      Map<UTF8String, Object> entries = new LinkedHashMap<>();
      in.readBlocks(
          index -> {
            UTF8String key = in.readString();
            try {
              entries.put(key, reader.read(in));
            } catch (BadValue error) {
              throw error.in(key.toString());
            }
          });
      return new ArrayBasedMapData(
          new GenericArrayData(entries.keySet().toArray()),
          new GenericArrayData(entries.values().toArray()));
    }
  }
}
