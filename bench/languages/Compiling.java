// SPDX-License-Identifier: Apache-2.0
import java.io.OutputStream;
import javax.tools.ToolProvider;

/** Javac, again and again in one JVM. */
public class Compiling {
    public static void main(String[] args) {
        while (ToolProvider.getSystemJavaCompiler().run(null, OutputStream.nullOutputStream(),
                OutputStream.nullOutputStream(), args) == 0);
    }
}
