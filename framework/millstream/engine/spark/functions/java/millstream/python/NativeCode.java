package millstream.python;

import java.util.concurrent.ConcurrentHashMap;
import org.codehaus.janino.SimpleCompiler;

/** Compiles the generated Java of functions, once in each JVM. */
public final class NativeCode {
  private static final ConcurrentHashMap<String, NativeBody> COMPILED = new ConcurrentHashMap<>();
  static final String CLASS = "millstream.generated.Body";

  private NativeCode() {}

  public static NativeBody of(String source) {
    return COMPILED.computeIfAbsent(source, NativeCode::compiled);
  }

  private static NativeBody compiled(String source) {
    try {
      SimpleCompiler compiler = new SimpleCompiler();
      compiler.setParentClassLoader(NativeCode.class.getClassLoader());
      compiler.cook(source);
      Class<?> type = compiler.getClassLoader().loadClass(CLASS);
      return (NativeBody) type.getDeclaredConstructor().newInstance();
    } catch (Exception error) {
      throw new IllegalStateException(
          "a translated function can't be compiled: " + error + "\n" + source, error);
    }
  }
}
