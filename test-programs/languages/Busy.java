// SPDX-License-Identifier: Apache-2.0
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

class Busy {
    static volatile long sink;

    static long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

    static int words(int n) {
        Map<String, Integer> counts = new TreeMap<>();
        for (int i = 0; i < n; i++)
            counts.merge("word " + i % 997, 1, Integer::sum);
        return counts.entrySet().stream().map(e -> e.getKey() + e.getValue())
            .sorted().collect(Collectors.joining("\n")).replaceAll("word ([0-9]+)", "$1").length();
    }

    static long descend(int n) { return n == 0 ? words(1000) + fibonacci(15) : descend(n - 1) + 1; }

    public static void main(String[] args) {
        new Thread(() -> { for (;;) sink += descend(30); }).start();
        for (;;)
            sink += descend(50);
    }
}
