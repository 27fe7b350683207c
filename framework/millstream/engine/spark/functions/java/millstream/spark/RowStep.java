package millstream.spark;

import java.io.Serializable;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import scala.Function2;

/**
 * One thing that is done with each row. Its columns, and all that steps compute of them, are in one
 * frame.
 */
interface RowStep extends Serializable {
  /**
   * Compiles it; what it returns is run once for each row, and runs what follows for each row that
   * this gives.
   */
  Runnable over(RowPath path, Runnable next);

  /** Returns the same for readers that leave out rows of null structs. */
  default RowStep withoutNulls() {
    return this;
  }

  /** Puts values into columns of the frame. */
  record Computed(List<Expression> expressions, int first) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      RowFunction function = path.compiled(expressions, path.frame(), first);
      return () -> {
        function.apply(path.row());
        next.run();
      };
    }
  }

  /** Leaves out rows. */
  record Filtered(Expression condition) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      Object[] holds = new Object[1];
      RowFunction function = path.compiled(List.of(condition), holds, 0);
      return () -> {
        function.apply(path.row());
        if (Boolean.TRUE.equals(holds[0])) {
          next.run();
        }
      };
    }
  }

  /**
   * Gives a row for each of some structs, with its fields from a column on; all are null for one
   * that is null.
   */
  record Unfolded(List<Expression> structs, Fields fields) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      Object[] values = new Object[structs.size()];
      RowFunction function = path.compiled(structs, values, 0);
      Consumer<InternalRow> put = fields.put(path, next);
      return () -> {
        function.apply(path.row());
        for (Object value : values) {
          put.accept((InternalRow) value);
        }
      };
    }

    @Override
    public RowStep withoutNulls() {
      return new Unfolded(structs, fields.withoutNulls());
    }
  }

  /** The same for the structs of an array; none for one that is null. */
  record Inlined(Expression array, Fields fields) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      Object[] values = new Object[1];
      RowFunction function = path.compiled(List.of(array), values, 0);
      Consumer<InternalRow> put = fields.put(path, next);
      return () -> {
        function.apply(path.row());
        ArrayData structs = (ArrayData) values[0];
        int count = structs == null ? 0 : structs.numElements();
        for (int i = 0; i < count; i++) {
          put.accept(structs.isNullAt(i) ? null : structs.getStruct(i, fields.types().length));
        }
      };
    }

    @Override
    public RowStep withoutNulls() {
      return new Inlined(array, fields.withoutNulls());
    }
  }

  /** The columns, from a first one on, that get the fields of structs. */
  record Fields(DataType[] types, int first, boolean skipsNull) implements Serializable {
    Fields withoutNulls() {
      return new Fields(types, first, true);
    }

    Consumer<InternalRow> put(RowPath path, Runnable next) {
      Object[] frame = path.frame();
      Function2<SpecializedGetters, Object, Object>[] readers = RowPath.readers(types);
      return struct -> {
        if (struct == null && skipsNull) {
          return;
        }
        if (struct instanceof GenericInternalRow generic) {
          System.arraycopy(generic.values(), 0, frame, first, types.length);
        } else {
          for (int i = 0; i < types.length; i++) {
            frame[first + i] = struct == null ? null : readers[i].apply(struct, i);
          }
        }
        next.run();
      };
    }
  }

  /** Adds rows to what is observed of a batch. */
  record Observed(int number) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      return () -> {
        path.observe(number);
        next.run();
      };
    }
  }
}
