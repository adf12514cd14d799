// SPDX-License-Identifier: Apache-2.0
/** Runs in hotInner, which handleRequest calls, for so many milliseconds. */
public class Spin {
	static long hotInner(int n) {
		long s = 0;
		for (int i = 0; i < n; i++)
			s += i ^ (s << 1);
		return s;
	}

	static long handleRequest(int n) {
		return hotInner(n) + 1;
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000, sum = 0;

		while (System.nanoTime() < end)
			sum += handleRequest(20000);
		System.exit(sum == 42 ? 1 : 0);
	}
}
