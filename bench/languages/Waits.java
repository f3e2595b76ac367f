// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait in known places. Says so when all do. */
public class Waits {
    interface Wait {
        void run() throws Exception;
    }

    static final CountDownLatch begun = new CountDownLatch(8);
    static final Object monitor = new Object(), held = new Object();
    static final ReentrantLock lock = new ReentrantLock();

    static void nested(int n, Wait wait) throws Exception {
        if (n > 0)
            nested(n - 1, wait);
        else
            wait.run();
    }

    static void start(String name, int n, Wait wait) {
        new Thread(() -> {
            begun.countDown();
            try {
                nested(n, wait);
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name).start();
    }

    static void waitForMonitor() throws Exception {
        synchronized (monitor) {
            monitor.wait();
        }
    }

    static void enter() {
        synchronized (held) {
            throw new AssertionError();
        }
    }

    static void never() throws Exception {
        Thread.sleep(Long.MAX_VALUE);
    }

    public static void main(String[] args) throws Exception {
        lock.lock();
        synchronized (held) {
            start("parked", 5, LockSupport::park);
            start("waiting", 3, Waits::waitForMonitor);
            start("sleeping", 1, Waits::never);
            start("taking", 9, () -> new LinkedBlockingQueue<String>().take());
            start("reading", 2, System.in::read);
            start("locking", 40, lock::lock);
            start("blocked", 4, Waits::enter);
            start("joining", 0, Thread.currentThread()::join);
            begun.await();
            Thread.sleep(500);
            System.out.println("ready");
            never();
        }
    }
}
