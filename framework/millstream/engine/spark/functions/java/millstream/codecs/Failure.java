package millstream.codecs;

import java.util.List;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** Errors that stop a query, as {@code raise_error} raises them. */
public final class Failure {
  private Failure() {}

  public static SparkRuntimeException of(String message) {
    Map<String, String> parameters =
        Map$.MODULE$.from(
            CollectionConverters.asScala(List.of(new Tuple2<>("errorMessage", message))));
    return new SparkRuntimeException(
        "USER_RAISED_EXCEPTION", parameters, null, new QueryContext[0], Option.<String>empty());
  }
}
