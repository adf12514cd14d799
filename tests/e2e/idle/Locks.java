// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that share a monitor, a pool that gets work now and then, and a server whose threads hold
 * another monitor for a while in each request, until two clients have gone. Locks MS HOLD_MS
 */
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

class Locks {
	static final Object lock = new Object(), rare = new Object();
	static final int CLIENTS = 2;
	static final CountDownLatch asked = new CountDownLatch(CLIENTS);
	static final Semaphore served = new Semaphore(0);

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

	/* Answers each byte, until the client ends. The first ones are answered at the same time. */
	static void serve(Socket client, long holdMs) {
		try (client) {
			for (int got; (got = client.getInputStream().read()) >= 0;) {
				asked.countDown();
				asked.await();
				synchronized (rare) {
					Thread.sleep(holdMs);
				}
				client.getOutputStream().write(got);
			}
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
		served.release();
	}

	static void listen(ServerSocket listener, long holdMs) {
		try {
			for (;;) {
				Socket client = listener.accept();

				new Thread(() -> serve(client, holdMs), "request").start();
			}
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
		long holdMs = Long.parseLong(args[1]);
		ExecutorService pool = Executors.newFixedThreadPool(3, r -> new Thread(r, "pool"));
		ServerSocket listener = new ServerSocket(0);
		Thread server = new Thread(() -> listen(listener, holdMs), "listener");
		Thread[] threads = new Thread[3];

		server.setDaemon(true);
		server.start();
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> turns(end), "monitor");
			threads[i].start();
		}
		System.out.println(listener.getLocalPort());
		while (System.nanoTime() < end) {
			pool.submit(() -> System.nanoTime());
			Thread.sleep(5);
		}
		for (Thread thread : threads)
			thread.join();
		pool.shutdown();
		served.acquire(CLIENTS);
	}
}
