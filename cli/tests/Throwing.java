// SPDX-License-Identifier: Apache-2.0
import java.io.PrintStream;

/* Makes exceptions, round after round, and logs for each that has a stack its type and the function that has made it. */
public class Throwing {
    static class Own extends Exception {
        static class Deeper extends Own {
        }
    }

    static class Quiet extends RuntimeException {
        Quiet() {
            super("has no stack", null, false, false);
        }
    }

    interface Maker {
        void make(int n) throws Throwable;
    }

    static PrintStream log;
    static int[] three = new int[3];
    static Object kept;

    static void is(String function, Class<?> type) {
        log.println("{\"function\": \"Throwing." + function + "\", \"type\": \"" + type.getName() + "\"}");
    }

    static void raiseState(int n) {
        is("raiseState", IllegalStateException.class);
        throw new IllegalStateException("state " + n);
    }

    static void raiseOwn(int n) throws Own {
        is("raiseOwn", Own.class);
        throw new Own();
    }

    static void raiseDeeper(int n) throws Own {
        if (n % 7 > 0)
            raiseDeeper(n - 1);
        is("raiseDeeper", Own.Deeper.class);
        throw new Own.Deeper();
    }

    static void raiseWithCause(int n) {
        is("raiseWithCause", java.io.IOException.class);
        is("raiseWithCause", RuntimeException.class);
        throw new RuntimeException("outer", new java.io.IOException("inner " + n));
    }

    static int raiseNull(int n) {
        is("raiseNull", NullPointerException.class);
        return ((String) kept).length();
    }

    static int raiseIndex(int n) {
        is("raiseIndex", ArrayIndexOutOfBoundsException.class);
        return three[n + 3];
    }

    static int raiseDivision(int n) {
        is("raiseDivision", ArithmeticException.class);
        return n / three[0];
    }

    static Object raiseCast(int n) {
        is("raiseCast", ClassCastException.class);
        return (Throwing) (Object) three;
    }

    static int raiseParse(int n) {
        is("raiseParse", NumberFormatException.class);
        return Integer.parseInt("x" + n);
    }

    static void raiseOnlyMade(int n) {
        is("raiseOnlyMade", Error.class);
        new Error("is not thrown").setStackTrace(new StackTraceElement[0]);
    }

    static void raiseQuiet(int n) {
        throw new Quiet();
    }

    static void raiseAgain(int n) {
        try {
            raiseState(n);
        } catch (IllegalStateException e) {
            throw e;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Maker[] makers = {Throwing::raiseState, Throwing::raiseOwn, Throwing::raiseDeeper, Throwing::raiseWithCause,
            Throwing::raiseNull, Throwing::raiseIndex, Throwing::raiseDivision, Throwing::raiseCast, Throwing::raiseParse,
            Throwing::raiseOnlyMade, Throwing::raiseQuiet, Throwing::raiseAgain};

        log = new PrintStream(arguments[1]);
        System.out.println("begin");
        System.in.read();
        for (int n = 0; n < Integer.parseInt(arguments[0]); n++)
            try {
                makers[n % makers.length].make(n);
            } catch (Throwable e) {
                kept = null;
            }
        log.close();
        System.out.println("done");
        while (System.in.read() != -1)
            continue;
    }
}
