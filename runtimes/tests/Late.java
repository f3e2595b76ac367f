// SPDX-License-Identifier: Apache-2.0
// What check_late_java.py profiles: Java that is called by libraries as soon as they are loaded.
public class Late {
	static volatile long sink;
	static final StringBuilder said = new StringBuilder();

	/* What each library calls. */
	static void called() { recursion(3); }

	static void recursion(int n) {
		if (n == 0)
			spin();
		else
			recursion(n - 1);
		sink++;
	}

	/* Says between which times the JVM's own list of its frames holds. */
	static void spin() {
		StackTraceElement[] frames = Thread.currentThread().getStackTrace();
		long began = System.nanoTime(), end = began + 30_000_000L, total = 0;
		while (System.nanoTime() < end)
			for (int i = 0; i < 2000; i++)
				total += i * (long)i % 7;
		sink += total;
		said.append(began).append('\t').append(end);
		for (int i = 1; i < frames.length; i++)
			said.append('\t').append(frames[i].getClassName()).append('.').append(frames[i].getMethodName());
		said.append('\n');
	}

	/* usage: Late LIBRARY...; begins when it is told to on stdin, and stays until that ends */
	public static void main(String[] libraries) throws java.io.IOException {
		System.in.read();
		for (String library : libraries)
			System.load(library);
		System.out.println(said); /* and an empty line */
		System.in.read();
	}
}
