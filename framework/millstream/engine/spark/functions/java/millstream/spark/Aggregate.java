package millstream.spark;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Arrays;
import millstream.rows.Fold;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An aggregate of one value. Spark's own way of adding one (V2Aggregator) can't be observed: tasks
 * send it back to the driver, and it is not serializable.
 */
final class Aggregate extends TypedImperativeAggregate<Serializable> implements Serializable {
  private final String name;
  private final Fold fold;
  private final Expression child;
  private final int mutableOffset;
  private final int inputOffset;

  Aggregate(String name, Fold fold, Expression child, int mutableOffset, int inputOffset) {
    this.name = name;
    this.fold = fold;
    this.child = child;
    this.mutableOffset = mutableOffset;
    this.inputOffset = inputOffset;
  }

  @Override
  public Serializable createAggregationBuffer() {
    return fold.start();
  }

  @Override
  public Serializable update(Serializable state, InternalRow row) {
    Object value = child.eval(row);
    if (value != null) {
      fold.add(state, value);
    }
    return state;
  }

  @Override
  public Serializable merge(Serializable state, Serializable other) {
    fold.merge(state, other);
    return state;
  }

  @Override
  public Object eval(Serializable state) {
    return fold.result(state);
  }

  @Override
  public byte[] serialize(Serializable state) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(state);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return bytes.toByteArray();
  }

  @Override
  public Serializable deserialize(byte[] content) {
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(content))) {
      return (Serializable) in.readObject();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (ClassNotFoundException error) {
      throw new IllegalStateException(error);
    }
  }

  @Override
  public int mutableAggBufferOffset() {
    return mutableOffset;
  }

  @Override
  public int inputAggBufferOffset() {
    return inputOffset;
  }

  @Override
  public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return new Aggregate(name, fold, child, offset, inputOffset);
  }

  @Override
  public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return new Aggregate(name, fold, child, mutableOffset, offset);
  }

  @Override
  public Seq<Expression> children() {
    return Extensions.seq(child);
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Aggregate(
        name, fold, CollectionConverters.asJava(children).get(0), mutableOffset, inputOffset);
  }

  @Override
  public DataType dataType() {
    return fold.type();
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public String prettyName() {
    return name;
  }

  @Override
  public int productArity() {
    return 5;
  }

  @Override
  public Object productElement(int index) {
    return Arrays.<Object>asList(name, fold, child, mutableOffset, inputOffset).get(index);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Aggregate;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Aggregate
        && name.equals(((Aggregate) other).name)
        && fold.equals(((Aggregate) other).fold)
        && child.equals(((Aggregate) other).child)
        && mutableOffset == ((Aggregate) other).mutableOffset
        && inputOffset == ((Aggregate) other).inputOffset;
  }

  @Override
  public int hashCode() {
    return 31 * name.hashCode() + child.hashCode();
  }
}
