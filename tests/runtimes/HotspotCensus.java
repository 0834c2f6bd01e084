// SPDX-License-Identifier: GPL-2.0-or-later
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/**
 * A Java program that knows its own truth. Each line of its input is a command, which it answers
 * with "done", or with JSON for "truth". Its argument is how many of each it plants.
 */
public class HotspotCensus {
	static class Session {
		final int id;
		final byte[] payload = new byte[100];

		Session(int id) {
			this.id = id;
		}
	}

	static class Cache {
		static final Map<Integer, Session> map = new HashMap<>();
	}

	static class OfStack {
	}
	static class OfThreadLocal {
	}
	static class OfGoneLocal {
	}
	static class OfSoft {
	}
	static class OfWeak {
	}
	static class OfPhantom {
	}
	static class OfLambda {
	}
	static class Garbage {
	}
	/** Of a ring, of a table, and of a tree whose nodes know their parents: all lost. */
	static class LostLink {
		LostLink next;
	}
	static class LostValue {
	}
	static class LostNode {
		LostNode parent, left, right;
	}
	static class Finalised {
		@Override
		@SuppressWarnings({"deprecation", "removal"})
		protected void finalize() {
		}
	}
	static class Link {
		Link next;
	}
	static class Worker extends Thread {
		Worker(Runnable runnable) {
			super(runnable);
		}
	}

	public static class Plugin {
		static final Object[] cache = {new Object()};
	}

	static final List<Object> kept = new ArrayList<>();
	static final List<Supplier<Object>> lambdas = new ArrayList<>();
	static final List<Thread> dead = new ArrayList<>();
	static final ThreadLocal<Object> local = new ThreadLocal<>();
	static final ReferenceQueue<Object> queue = new ReferenceQueue<>();
	static Object[][] matrix;
	static Object buffer;

	static Supplier<Object> holder(OfLambda held) {
		return () -> held;
	}

	static Link chain(int count) {
		Link first = null;

		for (int i = 0; i < count; i++) {
			Link link = new Link();

			link.next = first;
			first = link;
		}
		return first;
	}

	/** A class of a loader of its own, once more: what is left when a plugin is loaded anew. */
	static void load(int count) throws Exception {
		URL[] here = {HotspotCensus.class.getProtectionDomain().getCodeSource().getLocation()};

		for (int i = 0; i < count; i++) {
			URLClassLoader loader = new URLClassLoader(here, null);

			kept.add(loader.loadClass("HotspotCensus$Plugin").getDeclaredConstructor().newInstance());
		}
	}

	static void plant(int count) throws Exception {
		for (int i = 0; i < count; i++) {
			Cache.map.put(i, new Session(i));
			lambdas.add(holder(new OfLambda()));
			kept.add(new SoftReference<Object>(new OfSoft()));
			kept.add(new WeakReference<Object>(new OfWeak()));
			kept.add(new PhantomReference<Object>(new OfPhantom(), queue));
			kept.add(new Finalised());
			Thread thread = new Worker(() -> {});

			thread.start();
			thread.join();
			dead.add(thread);
		}
		kept.add(chain(count));
		matrix = new Object[count][3];
		buffer = ByteBuffer.allocateDirect(1 << 20);
		load(3);
	}

	static LostNode tree(LostNode parent, int count) {
		LostNode node = new LostNode();

		node.parent = parent;
		if (count > 1)
			node.left = tree(node, count / 2);
		if (count > 2)
			node.right = tree(node, count - 1 - count / 2);
		return node;
	}

	static void litter(int count) {
		for (int i = 0; i < count; i++)
			new Garbage();
	}

	static void lose(int count) {
		Map<Integer, LostValue> table = new HashMap<>();
		LostLink first = new LostLink(), last = first;

		for (int i = 0; i < count; i++) {
			table.put(i, new LostValue());
			last.next = i + 1 < count ? new LostLink() : first;
			last = last.next;
		}
		tree(null, count);
	}

	static void plantLocals(int count) {
		Object[] locals = new Object[count];

		for (int i = 0; i < count; i++)
			locals[i] = new OfThreadLocal();
		local.set(locals);
		for (int i = 0; i < count; i++)
			new ThreadLocal<Object>().set(new OfGoneLocal());
	}

	static void hold(String name, int count, CountDownLatch ready) {
		Thread thread = new Thread(() -> {
			OfStack[] stack = new OfStack[count];

			for (int i = 0; i < count; i++)
				stack[i] = new OfStack();
			plantLocals(count);
			ready.countDown();
			try {
				Thread.sleep(1000000);
			} catch (InterruptedException interrupted) {
				System.out.println(stack.length);
			}
			Reference.reachabilityFence(stack);
		}, name);

		thread.setDaemon(true);
		thread.start();
	}

	static volatile boolean busy;

	static void work() {
		Thread thread = new Thread(() -> {
			List<byte[]> some = new ArrayList<>();

			while (busy) {
				some.add(new byte[500]);
				if (some.size() > 20000)
					some = new ArrayList<>();
			}
		}, "busy worker");

		busy = true;
		thread.setDaemon(true);
		thread.start();
	}

	static String truth(int count) {
		return String.format("{\"classes\":{\"HotspotCensus$Session\":%1$d,"
			+ "\"HotspotCensus$OfStack\":%1$d,\"HotspotCensus$OfThreadLocal\":%1$d,"
			+ "\"HotspotCensus$OfGoneLocal\":%1$d,"
			+ "\"HotspotCensus$OfLambda\":%1$d,"
			+ "\"HotspotCensus$Link\":%1$d,\"HotspotCensus$OfStack[]\":1,"
			+ "\"java.lang.Object[][]\":1,\"HotspotCensus$Finalised\":%1$d,"
			+ "\"HotspotCensus$Worker (ended)\":%1$d,\"HotspotCensus$Plugin\":3}}", count);
	}

	/** Memory off the heap: {"direct":{"count":1,"bytes":1048576},...}. */
	static String buffers() {
		StringBuilder text = new StringBuilder("{");

		for (java.lang.management.BufferPoolMXBean pool : java.lang.management.ManagementFactory
				.getPlatformMXBeans(java.lang.management.BufferPoolMXBean.class))
			text.append(String.format("%s\"%s\":{\"count\":%d,\"bytes\":%d}",
				text.length() > 1 ? "," : "", pool.getName(), pool.getCount(),
				pool.getMemoryUsed()));
		return text.append("}").toString();
	}

	/** A page of a file that is mapped, for as long as the program runs. */
	static void map() throws Exception {
		java.nio.file.Path path = java.nio.file.Files.createTempFile("census", "");

		java.nio.file.Files.write(path, new byte[4096]);
		try (java.nio.channels.FileChannel file = java.nio.channels.FileChannel.open(path)) {
			kept.add(file.map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, 4096));
		}
		java.nio.file.Files.delete(path);
	}

	/** Native memory that is freed after a collection has found the buffers. */
	static void drop() {
		for (int i = 0; i < 20; i++)
			ByteBuffer.allocateDirect(64 << 10);
	}

	public static void main(String[] arguments) throws Exception {
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		int count = Integer.parseInt(arguments[0]);
		CountDownLatch ready = new CountDownLatch(1);

		hold("holder of stack", count, ready);
		ready.await();
		plant(count);
		System.gc();
		litter(count);
		System.out.println("ready");
		for (String line; (line = input.readLine()) != null && !line.equals("quit");) {
			if (line.equals("truth")) {
				System.out.println(truth(count));
				continue;
			}
			if (line.equals("buffers")) {
				System.out.println(buffers());
				continue;
			}
			if (line.equals("collect"))
				System.gc();
			else if (line.equals("lose"))
				lose(count);
			else if (line.equals("map"))
				map();
			else if (line.equals("drop"))
				drop();
			else if (line.equals("busy"))
				work();
			else if (line.equals("rest"))
				busy = false;
			System.out.println("done");
		}
	}
}
