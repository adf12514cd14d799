// SPDX-License-Identifier: Apache-2.0
/* Threads that share a monitor, and a pool that gets work now and then. Locks MS */
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

class Locks {
	static final Object lock = new Object();

	static void turns(long end) {
		while (System.nanoTime() < end)
			synchronized (lock) {
				long until = System.nanoTime() + 1_000_000;

				while (System.nanoTime() < until)
					Thread.onSpinWait();
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
