// SPDX-License-Identifier: GPL-2.0-or-later
/**
 * Has native memory allocated through chains of methods, and says by which: "allocate", "deflate",
 * "map", "start", and how often; it answers with the stack as the VM knows it, from the method that
 * does it outwards: {"frames":[["JavaFrames.allocate","JavaFrames.java",42],...]}.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.Deflater;
import sun.misc.Unsafe;

public class JavaFrames {
	static final List<Object> kept = new ArrayList<>();
	static StackTraceElement[] stack;
	static Unsafe unsafe;
	static FileChannel file;

	interface Step {
		void go() throws Exception;
	}

	/** The stack of the caller, once: what is on the same line as the call has it, too. 0. */
	static int here() {
		if (stack == null)
			stack = new Throwable().getStackTrace();
		return 0;
	}

	static void allocate() {
		kept.add(unsafe.allocateMemory(40 + here()));
	}

	static void deflate() {
		kept.add(new Deflater(6 + here()));
	}

	static void map() throws Exception {
		kept.add(file.map(FileChannel.MapMode.READ_ONLY, here(), 4096));
	}

	static void start() {
		kept.add(startOne(new Thread(JavaFrames::rest)));
	}

	static Thread startOne(Thread thread) {
		thread.setDaemon(true);
		thread.setPriority(5 + here()); thread.start();
		return thread;
	}

	static void rest() {
		for (;;)
			LockSupport.park();
	}

	/* Loops of their own, in methods that are compiled apart. */
	static void repeat(Step step, int count) throws Exception {
		for (int i = 0; i < count; i++)
			once(step);
	}

	static void once(Step step) throws Exception {
		if (step != null)
			step.go();
	}

	static void act(String what, int count) throws Exception {
		if (what.equals("allocate"))
			repeat(new Step() {
				public void go() {
					allocate();
				}
			}, count);
		else if (what.equals("deflate"))
			repeat(JavaFrames::deflate, count);
		else if (what.equals("map"))
			repeat(new Step() {
				public void go() throws Exception {
					map();
				}
			}, count);
		else
			repeat(new Step() {
				public void go() {
					start();
				}
			}, count);
	}

	/* here() itself is left out, and what the VM does not show either. */
	static String frames() {
		StringBuilder text = new StringBuilder("{\"frames\":[");

		for (int i = 1; i < stack.length; i++)
			text.append(String.format("%s[\"%s.%s\",\"%s\",%d]", i > 1 ? "," : "",
				stack[i].getClassName(), stack[i].getMethodName(),
				stack[i].getFileName(), stack[i].getLineNumber()));
		return text.append("]}").toString();
	}

	public static void main(String[] arguments) throws Exception {
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		java.lang.reflect.Field field = Unsafe.class.getDeclaredField("theUnsafe");
		Path path = Files.createTempFile("frames", "");

		field.setAccessible(true);
		unsafe = (Unsafe)field.get(null);
		Files.write(path, new byte[4096]);
		file = FileChannel.open(path);
		Files.delete(path);
		/* Libraries and native methods are found. */
		new Deflater();
		unsafe.allocateMemory(1);
		System.out.println("ready");
		for (String line; (line = input.readLine()) != null && !line.equals("quit");) {
			String[] words = line.split(" ");

			stack = null;
			act(words[0], Integer.parseInt(words[1]));
			System.out.println(frames());
		}
	}
}
