package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import scala.Function2;

/** One thing that is done with each row. Its columns, and all that steps compute of them, are in one frame. */
interface RowStep extends Serializable {
  /** Compiles it; what it returns is run once for each row, and runs what follows for each row that this gives. */
  Runnable over(RowPath path, Runnable next);

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
  record Kept(Expression condition) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      Object[] kept = new Object[1];
      RowFunction function = path.compiled(List.of(condition), kept, 0);
      return () -> {
        function.apply(path.row());
        if (Boolean.TRUE.equals(kept[0])) {
          next.run();
        }
      };
    }
  }

  /** Gives a row for each of some structs, with its fields from a column on; all are null for one that is null. */
  record Unfolded(List<Expression> structs, DataType[] fields, int first, boolean skipsNull) implements RowStep {
    @Override
    public Runnable over(RowPath path, Runnable next) {
      Object[] found = new Object[structs.size()];
      RowFunction function = path.compiled(structs, found, 0);
      Object[] frame = path.frame();
      Function2<SpecializedGetters, Object, Object>[] readers = RowPath.readers(fields);
      int end = first + fields.length;
      return () -> {
        function.apply(path.row());
        for (Object each : found) {
          if (each != null) {
            put((InternalRow) each, readers, frame);
          } else if (skipsNull) {
            continue;
          } else {
            Arrays.fill(frame, first, end, null);
          }
          next.run();
        }
      };
    }

    Unfolded withoutNulls() {
      return new Unfolded(structs, fields, first, true);
    }

    private void put(InternalRow struct, Function2<SpecializedGetters, Object, Object>[] readers, Object[] frame) {
      if (struct instanceof GenericInternalRow generic) {
        System.arraycopy(generic.values(), 0, frame, first, fields.length);
        return;
      }
      for (int each = 0; each < fields.length; each++) {
        frame[first + each] = readers[each].apply(struct, each);
      }
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
