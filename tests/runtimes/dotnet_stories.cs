// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A .NET program that knows its own truth. Its argument chooses a story; each line of its input is
 * a command, which it answers with "done", or with JSON for "truth". Compiled with Mono's compiler,
 * run by .NET 8 to 10.
 */
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Planted {
	class Session {
		public int Id;
		public byte[] Payload;
		public Session Next { get; set; }
	}

	class Generic<T> {
		public T Value;
		public static List<T> Kept = new List<T>();
		public class Inner {
			public int Number;
		}
	}

	struct Pair {
		public object Left;
		public int Number;
		public object Right;
	}

	class Left {
	}

	class Finalised {
		~Finalised() {
		}
	}

	class Attached {
		public int Number;
	}

	delegate void Handler();

	class Publisher {
		public static event Handler Changed;

		public static void Fire() {
			if (Changed != null)
				Changed();
		}
	}

	class Subscriber {
		int calls;

		public void On() {
			calls++;
		}
	}

	class OfStrongHandle {
	}

	class OfPinnedHandle {
		public long Number;
	}

	class OfWeakHandle {
	}

	class OfThread {
	}

	/* As a SafeHandle has: native memory that nothing but a field of an object leads to. */
	class OfNativeMemory {
		public IntPtr Address = Marshal.AllocHGlobal(4321);

		public OfNativeMemory() {
			Marshal.Copy(new byte[4321], 0, Address, 4321);
		}
	}

	class Holder {
		public Pair[] Pairs;
		public Session[,] Grid;
		public Dictionary<string, Session> Map = new Dictionary<string, Session>();
	}

	/* Everything of a kind that a census tells apart. */
	static class Census {
		static readonly List<Session> cache = new List<Session>();
		static Holder holder = new Holder();
		static List<Generic<string>.Inner> inners = new List<Generic<string>.Inner>();
		static List<object> finalised = new List<object>();
		static ConditionalWeakTable<Session, Attached> attached =
			new ConditionalWeakTable<Session, Attached>();
		static Generic<int> numbers;
		static byte[] large;
		static List<OfNativeMemory> native = new List<OfNativeMemory>();
		[ThreadStatic] static OfThread own;

		static void Plant(int count) {
			for (int i = 0; i < count; i++)
				cache.Add(new Session { Id = i, Payload = new byte[100] });
			holder.Pairs = new Pair[7];
			for (int i = 0; i < 7; i++) {
				holder.Pairs[i].Left = new Left();
				holder.Pairs[i].Right = new Session();
			}
			holder.Grid = new Session[3, 5];
			holder.Grid[1, 2] = new Session { Next = new Session() };
			for (int i = 0; i < 40; i++)
				holder.Map["key" + i] = cache[i];
			for (int i = 0; i < 300; i++)
				Publisher.Changed += new Subscriber().On;
			for (int i = 0; i < 11; i++)
				inners.Add(new Generic<string>.Inner());
			for (int i = 0; i < 13; i++)
				finalised.Add(new Finalised());
			for (int i = 0; i < 9; i++)
				attached.Add(cache[i], new Attached());
			for (int i = 0; i < 25; i++)
				native.Add(new OfNativeMemory());
			Generic<Pair[]>.Kept.Add(new Pair[4]);
			numbers = new Generic<int> { Value = 1 };
			large = new byte[200000];
			Thread.CurrentThread.Name = "planter 1";
			own = new OfThread();
			GCHandle.Alloc(new OfStrongHandle(), GCHandleType.Normal);
			GCHandle.Alloc(new OfPinnedHandle(), GCHandleType.Pinned);
			GCHandle.Alloc(new OfWeakHandle(), GCHandleType.Weak);
		}

		/* In a function of its own: its locals are gone when it has returned. */
		[MethodImpl(MethodImplOptions.NoInlining)]
		static void PlantDeep(int count) {
			Plant(count);
		}

		public static void Begin(int count) {
			PlantDeep(count);
		}

		public static void More() {
			for (int i = 0; i < 300; i++)
				cache.Add(new Session { Id = i, Payload = new byte[100] });
		}

		public static string Truth() {
			return "{\"classes\":{" +
				"\"Planted.Session\":" + (cache.Count + 9) +
				",\"Planted.Left\":7" +
				",\"Planted.Holder\":1" +
				",\"Planted.Pair[]\":2" +
				",\"Planted.Session[,]\":1" +
				",\"Planted.Subscriber\":300" +
				",\"Planted.Handler\":301" +
				",\"Planted.Finalised\":13" +
				",\"Planted.Attached\":9" +
				",\"Planted.Generic<System.String>.Inner\":11" +
				",\"Planted.Generic<System.Int32>\":1" +
				",\"System.Collections.Generic.Dictionary<System.String, Planted.Session>\":1" +
				",\"Planted.OfStrongHandle\":1" +
				",\"Planted.OfPinnedHandle\":1" +
				",\"Planted.OfWeakHandle\":0" +
				",\"Planted.OfThread\":1" +
				"}}";
		}

		public static void Keep() {
			GC.KeepAlive(own);
			GC.KeepAlive(numbers);
			GC.KeepAlive(large);
		}
	}
}

/* Asynchronous steps that each wait for the one before: what a loop in F# makes of `do! loop ()`
 * where that is no tail call. */
namespace Continuations {
	class Message {
		public int Number;
	}

	class Closure {
		public object Awaited;

		public void Run() {
			GC.KeepAlive(Awaited);
		}
	}

	class Continuation {
		public Action Next;

		public Continuation(object awaited) {
			Next = new Closure { Awaited = awaited }.Run;
		}
	}

	static class Mailbox {
		static object loop = new List<Message>();

		/* What the innermost step has. */
		static List<Message> Messages() {
			object step = loop;

			while (step is Continuation)
				step = ((Closure)((Continuation)step).Next.Target).Awaited;
			return (List<Message>)step;
		}

		public static void Step() {
			List<Message> messages = Messages();

			for (int i = 0; i < 300; i++)
				messages.Add(new Message { Number = i });
			loop = new Continuation(loop);
		}

		public static string Truth() {
			return "{\"messages\":" + Messages().Count + "}";
		}
	}
}

namespace MemoryLeak {
	class Entry {
		public string Key;
		public byte[] Value;
	}

	class MyWorker {
		static readonly Dictionary<string, Entry> _memoryCache = new Dictionary<string, Entry>();
		static int requests;

		public static void Work(int count, bool isFixed) {
			for (int i = 0; i < count; i++) {
				string key = "request " + requests++;

				_memoryCache[key] = new Entry { Key = key, Value = new byte[512] };
				if (isFixed)
					_memoryCache.Remove(key);
			}
		}

		public static string Truth() {
			return "{\"entries\":" + _memoryCache.Count + "}";
		}
	}
}

namespace Threads {
	/* What an operation that never completes calls back. */
	class Callback {
		public Thread Owner;
		public byte[] Buffer = new byte[64];
		GCHandle handle;

		public void Pin() {
			handle = GCHandle.Alloc(this, GCHandleType.Normal);
			GCHandle.Alloc(Buffer, GCHandleType.Pinned);
		}

		public unsafe void Done(uint error, uint bytes, NativeOverlapped *overlapped) {
			GC.KeepAlive(handle);
		}
	}

	static class Pool {
		[MethodImpl(MethodImplOptions.NoInlining)]
		static unsafe void Issue() {
			Callback callback = new Callback { Owner = Thread.CurrentThread };

			new Overlapped().Pack(callback.Done, callback.Buffer);
		}

		static int ended;

		public static string Truth() {
			return "{\"ended\":" + ended + "}";
		}

		public static void Run(int count) {
			for (int i = 0; i < count; i++, ended++) {
				Thread thread = new Thread(Issue);

				thread.Start();
				thread.Join();
			}
		}
	}
}

static class Program {
	static object recent;

	static void Collect() {
		for (int i = 0; i < 3; i++) {
			GC.Collect();
			GC.WaitForPendingFinalizers();
		}
	}

	static void Main(string[] arguments) {
		string story = arguments[0];
		int count = arguments.Length > 1 ? int.Parse(arguments[1]) : 300;
		bool busy = false;

		if (story == "census" || story == "busy")
			Planted.Census.Begin(count);
		if (story == "threads")
			Threads.Pool.Run(count);
		if (story == "cache" || story == "fixed")
			MemoryLeak.MyWorker.Work(count, story == "fixed");
		if (story == "continuations")
			Continuations.Mailbox.Step();
		Collect();
		if (story == "busy") {
			busy = true;
			for (int i = 0; i < 2; i++)
				new Thread(Churn) { IsBackground = true }.Start();
		}
		Console.WriteLine("ready");
		Console.Out.Flush();
		for (;;) {
			string line = Console.ReadLine();

			if (line == null)
				break;
			Answer(story, line, count);
			Console.Out.Flush();
		}
		GC.KeepAlive(busy);
		GC.KeepAlive(recent);
		Planted.Census.Keep();
	}

	/* Garbage, some of which lives for a while: collections that move what is left. */
	static void Churn() {
		List<object> recent = new List<object>();

		for (int i = 0;; i++) {
			recent.Add(new byte[100 + i % 400]);
			if (recent.Count > 5000)
				recent = new List<object>();
		}
	}

	static void Answer(string story, string line, int count) {
		if (line == "truth") {
			Console.WriteLine(story == "continuations" ? Continuations.Mailbox.Truth() :
					  story == "threads" ? Threads.Pool.Truth() :
					  story == "cache" || story == "fixed" ?
					  MemoryLeak.MyWorker.Truth() : Planted.Census.Truth());
			return;
		}
		if (line == "collections") {
			Console.WriteLine("{\"counts\":[" + GC.CollectionCount(0) + "," +
					  GC.CollectionCount(1) + "," + GC.CollectionCount(2) + "]}");
			return;
		}
		/* No more than a generation may have until the next collection. */
		if (line == "small" || line == "large") {
			for (int i = 0; i < (line == "small" ? 1000 : 1); i++)
				recent = new byte[line == "small" ? 1000 : 1000000];
			Console.WriteLine("done");
			return;
		}
		if (line == "young") {
			GC.Collect(0);
			Console.WriteLine("done");
			return;
		}
		if (line == "more" && story == "continuations")
			Continuations.Mailbox.Step();
		else if (line == "more" && (story == "cache" || story == "fixed"))
			MemoryLeak.MyWorker.Work(count, story == "fixed");
		else if (line == "more")
			Planted.Census.More();
		Collect();
		Console.WriteLine("done");
	}
}
