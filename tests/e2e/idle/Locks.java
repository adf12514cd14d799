// SPDX-License-Identifier: Apache-2.0
/* Threads that share a monitor, and a pool that gets work now and then. Locks MS */
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

class Locks {
	static final Object lock = new Object();

	static void spin(long ns) {
		long until = System.nanoTime() + ns;

		while (System.nanoTime() < until)
			Thread.onSpinWait();
	}

	/* Who has just released the monitor leaves it to another thread, which has to wake first. */
	static void turns(long end) {
		while (System.nanoTime() < end) {
			synchronized (lock) {
				spin(1_000_000);
			}
			spin(300_000);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
		ExecutorService pool = Executors.newFixedThreadPool(3, r -> new Thread(r, "pool"));
		Thread[] threads = new Thread[3];

		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> turns(end), "monitor");
			threads[i].start();
		}
		System.out.println("ready");
		while (System.nanoTime() < end) {
			pool.submit(() -> System.nanoTime());
			Thread.sleep(5);
		}
		for (Thread thread : threads)
			thread.join();
		pool.shutdown();
	}
}
