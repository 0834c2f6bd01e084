// SPDX-License-Identifier: GPL-2.0-or-later
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;

/**
 * A program with virtual threads (JDK 21 and later), each of which has an object in its stack and
 * another one in a ThreadLocal. Its arguments are how many wait, and how many of them sleep. Each
 * line of its input is a command: "more" starts ten more that wait, "collect" collects, "wake" lets
 * all that wait end.
 */
public class VirtualThreads {
	static class OfStack {
		int number;
	}
	static class OfLocal {
	}
	static class OfGoneLocal {
	}

	static final List<Thread> kept = new ArrayList<>();
	static final Semaphore none = new Semaphore(0);
	static final ThreadLocal<Object> local = new ThreadLocal<>();
	static volatile int sum;

	/** Calls that lie between the place where it waits and the start, some with arguments. */
	static int descend(int depth, Object held, CountDownLatch ready, long a, long b, long c, long d)
			throws InterruptedException {
		OfStack own = new OfStack();
		int result = depth;

		own.number = depth;
		if (depth > 0)
			result += descend(depth - 1, held, ready, a + 1, b + 2, c + 3, d + 4);
		else
			await(ready);
		sum += own.number + held.hashCode() + (int)(a + b + c + d);
		return result;
	}

	static void await(CountDownLatch ready) throws InterruptedException {
		ready.countDown();
		none.acquire();
	}

	static void sleep(CountDownLatch ready) throws InterruptedException {
		OfStack own = new OfStack();

		ready.countDown();
		Thread.sleep(1000000);
		sum += own.number;
	}

	static void work(CountDownLatch ready) {
		try {
			local.set(new OfLocal());
			new ThreadLocal<Object>().set(new OfGoneLocal());
			descend(3, new OfStack(), ready, 1, 2, 3, 4);
		} catch (InterruptedException interrupted) {
			sum++;
		}
	}

	static void nap(CountDownLatch ready) {
		try {
			sleep(ready);
		} catch (InterruptedException interrupted) {
			sum++;
		}
	}

	static void start(int waiting, int sleeping) throws Exception {
		CountDownLatch ready = new CountDownLatch(waiting + sleeping);

		for (int i = 0; i < waiting; i++)
			kept.add(Thread.ofVirtual().name("worker-" + i).start(() -> work(ready)));
		for (int i = 0; i < sleeping; i++)
			kept.add(Thread.ofVirtual().start(() -> nap(ready)));
		ready.await();
	}

	/** Until all of them wait. */
	static void settle() throws Exception {
		for (Thread thread : kept) {
			while (thread.getState() == Thread.State.RUNNABLE)
				Thread.sleep(1);
		}
	}

	public static void main(String[] arguments) throws Exception {
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		int waiting = Integer.parseInt(arguments[0]), sleeping = Integer.parseInt(arguments[1]);

		for (int i = 0; i < 5; i++)
			kept.add(Thread.ofVirtual().unstarted(() -> {}));
		for (int i = 0; i < 7; i++) {
			Thread thread = Thread.ofVirtual().start(() -> {});

			thread.join();
			kept.add(thread);
		}
		start(waiting, sleeping);
		settle();
		System.gc();
		System.out.println("ready");
		for (String line; (line = input.readLine()) != null && !line.equals("quit");) {
			if (line.equals("more"))
				start(10, 0);
			else if (line.equals("wake"))
				none.release(1000000);
			else if (line.equals("collect"))
				System.gc();
			settle();
			System.out.println("done");
		}
	}
}
