package millstream.rows;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Gathers texts of rows for a log: a share of them, chosen at random, and of these the first ones,
 * each cut after a number of characters. The result is how many were chosen, and the texts.
 */
public final class Gather implements Fold {
  private static final int LONGEST = 10_000;

  private final double share;
  private final int most;

  public Gather(double share, int most) {
    this.share = share;
    this.most = most;
  }

  /** What is gathered so far. */
  private static final class Texts implements Serializable {
    private static final long serialVersionUID = 1;
    private final ArrayList<String> first = new ArrayList<>();
    private long rows;
  }

  @Override
  public Serializable start() {
    return new Texts();
  }

  @Override
  public void add(Serializable state, Object value) {
    if (share < 1 && ThreadLocalRandom.current().nextDouble() >= share) {
      return;
    }
    Texts texts = (Texts) state;
    texts.rows++;
    if (texts.first.size() < most) {
      String text = value.toString();
      texts.first.add(text.length() > LONGEST ? text.substring(0, LONGEST) + "…" : text);
    }
  }

  @Override
  public void merge(Serializable state, Serializable other) {
    Texts texts = (Texts) state;
    texts.rows += ((Texts) other).rows;
    for (String text : ((Texts) other).first) {
      if (texts.first.size() < most) {
        texts.first.add(text);
      }
    }
  }

  @Override
  public Object result(Serializable state) {
    Texts texts = (Texts) state;
    Object[] first = texts.first.stream().map(UTF8String::fromString).toArray();
    return new GenericInternalRow(new Object[] {texts.rows, new GenericArrayData(first)});
  }

  @Override
  public DataType type() {
    return DataTypes.createStructType(
        new StructField[] {
          DataTypes.createStructField("rows", DataTypes.LongType, false),
          DataTypes.createStructField(
              "texts", DataTypes.createArrayType(DataTypes.StringType, false), false)
        });
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Gather
        && most == ((Gather) other).most
        && share == ((Gather) other).share;
  }

  @Override
  public int hashCode() {
    return 31 * most + Double.hashCode(share);
  }
}
