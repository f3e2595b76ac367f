// SPDX-License-Identifier: Apache-2.0
// What check_hotspot.py profiles: chains of calls that the JVM itself writes down.
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

public class Chain {
	static volatile long sink;
	/* Do virtual threads wait before they compute? */
	static boolean parks;
	static final List<String> results = new ArrayList<>();
	/* A step of a plan: more frames than are brought back from the heap at once. */
	static final int DEEP = 10;
	/* A step that keeps a virtual thread on its carrier until JDK 24 */
	static final int LOCKED = 6;

	final int[] plan;
	final double seconds;
	final String mark;

	Chain(int[] plan, double seconds, String mark) {
		this.plan = plan;
		this.seconds = seconds;
		this.mark = mark;
	}

	static void note(String mark, long began, long end, StackTraceElement[] frames) {
		StringBuilder line = new StringBuilder();
		line.append(mark).append('\t').append(Thread.currentThread().getName());
		line.append('\t').append(began).append('\t').append(end);
		for (StackTraceElement f : frames)
			line.append('\t').append(f.getClassName()).append('.').append(f.getMethodName())
				.append(':').append(f.getFileName()).append(':').append(f.getLineNumber());
		synchronized (results) {
			results.add(line.toString());
		}
	}

	/* Afterwards only the innermost frames of a virtual thread are on a stack. */
	static void park() {
		if (parks)
			LockSupport.parkNanos(1000000);
	}

	long leaf() {
		if (mark == null)
			return sink + 1;
		park();
		StackTraceElement[] frames = Thread.currentThread().getStackTrace();
		long began = System.nanoTime(), end = began + (long)(seconds * 1e9), total = 0;
		while (System.nanoTime() < end)
			for (int i = 0; i < 20000; i++)
				total += i * (long)i % 7;
		sink += total;
		note(mark, began, end, frames);
		return total;
	}

	/* A ring of functions that do hardly anything but call each other. */
	static long ringA(int n) { return n <= 0 ? sink : ringB(n - 1) + 1; }
	static long ringB(int n) { return n <= 0 ? sink : ringC(n - 1) ^ n; }
	static long ringC(int n) { return n <= 0 ? sink : ringA(n - 1) + ringD(n - 20); }
	static long ringD(int n) { return n <= 0 ? sink : ringA(n - 1) - 3; }

	long storm() {
		park();
		StackTraceElement[] frames = Thread.currentThread().getStackTrace();
		long began = System.nanoTime(), end = began + (long)(seconds * 1e9), total = 0;
		while (System.nanoTime() < end)
			for (int i = 0; i < 100; i++)
				total += ringA(60);
		sink += total;
		note("storm", began, end, frames);
		return total;
	}

	long go(int at) {
		if (at == plan.length)
			return "storm".equals(mark) ? storm() : leaf();
		switch (plan[at]) {
		case 0: return plain(at + 1, 1, 2.0, "x");
		case 1: return recursion(at + 1, 4);
		case 2: return lambda(at + 1);
		case 3: return sorted(at + 1);
		case 4: return mapped(at + 1);
		case 5: return constructed(at + 1);
		case 6: return locked(at + 1);
		case 7: return caught(at + 1);
		case 8: return operated(x -> go(at + 1) + x);
		case DEEP: return recursion(at + 1, 150);
		default: return listed(at + 1);
		}
	}

	long plain(int at, long a, double b, String c) { return go(at) + a + (long)b + c.length(); }
	long recursion(int at, int n) { return n == 0 ? go(at) : recursion(at, n - 1) + n; }
	long lambda(int at) {
		LongSupplier s = () -> go(at);
		return s.getAsLong();
	}
	long operated(LongUnaryOperator op) { return op.applyAsLong(3); }
	long sorted(int at) {
		Integer[] two = { 2, 1 };
		long[] result = new long[1];
		Arrays.sort(two, (x, y) -> {
			if (result[0] == 0)
				result[0] = go(at) | 1;
			return x - y;
		});
		return result[0];
	}
	long mapped(int at) { return new HashMap<String, Long>().computeIfAbsent("key", k -> go(at)); }
	long listed(int at) {
		long[] result = new long[1];
		Arrays.asList(1).forEach(x -> result[0] = go(at));
		return result[0];
	}
	static class Made {
		final long value;
		Made(Chain chain, int at) { value = chain.go(at); }
	}
	long constructed(int at) { return new Made(this, at).value; }
	synchronized long locked(int at) { return go(at); }
	long caught(int at) {
		try {
			throw new IllegalStateException();
		} catch (IllegalStateException e) {
			return go(at);
		} finally {
			sink++;
		}
	}

	/* Objects that live for a while, so that they are moved, and many that do not. */
	static void litter() {
		Object[] kept = new Object[20000];
		for (int i = 0; ; i++) {
			Object[] list = new Object[16];
			list[0] = kept[(i * 7919 & 0x7fffffff) % kept.length];
			if (list[0] != null)
				((Object[])list[0])[0] = null;
			kept[(i & 0x7fffffff) % kept.length] = list;
			if (i % 50000 == 0)
				LockSupport.parkNanos(1000000);
		}
	}

	/* Threads that JDK 21 and later have. */
	static Thread virtual(Runnable body, String name) throws Exception {
		Class<?> builders = Class.forName("java.lang.Thread$Builder");
		Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
		builders.getMethod("name", String.class).invoke(builder, name);
		return (Thread)builders.getMethod("unstarted", Runnable.class).invoke(builder, body);
	}

	static int[] makePlan(Random random) {
		int[] plan = random.ints(8, 0, DEEP).toArray();
		if (!parks)
			return plan;
		plan[0] = DEEP;
		for (int i = 0; i < plan.length; i++)
			if (plan[i] == LOCKED)
				plan[i] = 0;
		return plan;
	}

	/* usage: Chain SEED SECONDS [litter|virtual|parks]... */
	public static void main(String[] arguments) throws Exception {
		Random random = new Random(Long.parseLong(arguments[0]));
		double seconds = Double.parseDouble(arguments[1]);
		List<String> ways = Arrays.asList(arguments).subList(2, arguments.length);
		boolean isVirtual = ways.contains("virtual");
		parks = ways.contains("parks");
		if (ways.contains("litter")) {
			Thread thread = new Thread(Chain::litter);
			thread.setDaemon(true);
			thread.start();
		}
		List<Thread> threads = new ArrayList<>();
		for (int t = 0; t < 2; t++) {
			int[] plan = makePlan(random);
			Runnable body = () -> {
				new Chain(plan, seconds, "cold").go(0);
				Chain warm = new Chain(plan, seconds, null);
				for (int i = 0; i < 30000; i++)
					sink += warm.go(0);
				new Chain(plan, seconds, "warm").go(0);
				new Chain(plan, seconds, "storm").go(0);
			};
			String name = "chain" + t;
			Thread thread = isVirtual ? virtual(body, name) : new Thread(body, name);
			thread.start();
			threads.add(thread);
		}
		for (Thread thread : threads)
			thread.join();
		Files.print();
	}

	static class Files {
		static void print() {
			for (String line : results)
				System.out.println(line);
		}
	}
}
