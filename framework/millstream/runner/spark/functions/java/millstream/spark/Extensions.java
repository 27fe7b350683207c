package millstream.spark;

import java.time.ZoneId;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Tuple3;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** The functions of SQL that Millstream adds to each Spark session. */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions session) {
    add(session, "decode_json", fields -> new JsonFormat(fields, zone()));
    return BoxedUnit.UNIT;
  }

  /** Makes a format of the fields that a call names. */
  private interface Formats {
    Decoder.Format of(StructType fields);
  }

  /** Adds `name(value, fields)`, whose rows say what is wrong, and `name(value, fields, topic, partition, offset)`, which fails. */
  private static void add(SparkSessionExtensions session, String name, Formats formats) {
    Function<List<Expression>, Expression> call = arguments -> {
      StructType fields = StructType.fromDDL(text(arguments.get(1)));
      Decoder.Format format = formats.of(fields);
      return arguments.size() == 2
          ? V2ExpressionUtils.resolveScalarFunction(
              new Decoder(name, fields, format), seq(arguments.get(0)))
          : V2ExpressionUtils.resolveScalarFunction(
              new RequiredDecoder(name, fields, format, text(arguments.get(2))),
              seq(arguments.get(0), arguments.get(3), arguments.get(4)));
    };
    Function1<Seq<Expression>, Expression> builder = new AbstractFunction1<>() {
      @Override
      public Expression apply(Seq<Expression> arguments) {
        return call.apply(CollectionConverters.asJava(arguments));
      }
    };
    session.injectFunction(
        new Tuple3<>(new FunctionIdentifier(name), new ExpressionInfo(Decoder.class.getName(), name), builder));
  }

  private static Seq<Expression> seq(Expression... expressions) {
    return List$.MODULE$.from(CollectionConverters.asScala(List.of(expressions)));
  }

  private static String text(Expression literal) {
    return literal.eval(null).toString();
  }

  private static ZoneId zone() {
    return ZoneId.of(SQLConf.get().sessionLocalTimeZone());
  }
}
