// SPDX-License-Identifier: GPL-2.0-or-later
/* A program under load that checks itself; what it reads and writes: see ../no_harm.py. */
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

class Node {
	public int Number;
	public Node Following;
	public string Text;
}

class Finalised {
	public static int Made, Ended;

	public Finalised() {
		Interlocked.Increment(ref Made);
	}

	~Finalised() {
		Interlocked.Increment(ref Ended);
	}
}

static class Target {
	const int Kept = 1000, Size = 4000;
	static readonly SortedDictionary<string, long> counts = new SortedDictionary<string, long>();
	static readonly SortedDictionary<string, long> wrong = new SortedDictionary<string, long>();
	static readonly SortedDictionary<int, long> alone = new SortedDictionary<int, long>();
	static readonly SortedDictionary<int, long> looked = new SortedDictionary<int, long>();
	static readonly Dictionary<string, object[]> kept = new Dictionary<string, object[]>();
	static readonly object @lock = new object();
	static string phase = "alone";
	static bool begins = true;
	static Timer timer;

	[DllImport("libc", SetLastError = true)]
	static extern int socketpair(int domain, int type, int protocol, int[] ends);

	[DllImport("libc", SetLastError = true)]
	static extern IntPtr write(int descriptor, byte[] data, IntPtr size);

	[DllImport("libc", SetLastError = true)]
	static extern IntPtr recv(int descriptor, byte[] data, IntPtr size, int flags);

	[DllImport("libc", SetLastError = true)]
	static extern int epoll_create1(int flags);

	[DllImport("libc", SetLastError = true)]
	static extern int epoll_ctl(int poll, int operation, int descriptor, byte[] wanted);

	[DllImport("libc", SetLastError = true)]
	static extern int epoll_wait(int poll, byte[] events, int count, int limit);

	[DllImport("libc", SetLastError = true)]
	static extern int poll(IntPtr descriptors, IntPtr count, int limit);

	[DllImport("libc", SetLastError = true)]
	static extern int usleep(int time);

	[DllImport("libc")]
	static extern int pthread_sigmask(int how, ulong[] set, IntPtr before);

	static void Add<T>(IDictionary<T, long> counters, T name) {
		lock (@lock) {
			long count;
			counters.TryGetValue(name, out count);
			counters[name] = count + 1;
		}
	}

	static void Expect(string name, bool right) {
		if (!right) {
			Add(wrong, name);
		}
	}

	static void Call(string name, long wanted, long got) {
		if (got != wanted) {
			Add(wrong, name + ": " + got + ", errno " + Marshal.GetLastWin32Error());
		}
	}

	static void Start(string name, Action work, bool signals = true) {
		new Thread(() => {
			try {
				/* All but faults: nothing may interrupt the calls of such a thread. */
				if (!signals) {
					pthread_sigmask(2, new ulong[16] {~0x4d8ul, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, IntPtr.Zero);
				}
				while (true) {
					work();
				}
			} catch (Exception error) {
				Add(wrong, name + ": " + error.GetType() + " " + error.Message);
			}
		}) {IsBackground = true}.Start();
	}

	static void CheckKept() {
		int right = 0;
		for (int i = 0; i < Kept; i++) {
			object[] value = kept["key " + i];
			if ((int)value[0] == i && value[1] == value && value.Length == i % 5 + 2) {
				right++;
			}
		}
		Expect("planted objects", right == Kept);
		Add(counts, "checks");
	}

	static Func<int, int> NewCode(int number) {
		var method = new DynamicMethod("made", typeof(int), new[] {typeof(int)}, typeof(Target).Module, true);
		ILGenerator code = method.GetILGenerator();
		code.Emit(OpCodes.Ldarg_0);
		code.Emit(OpCodes.Ldc_I4, number);
		code.Emit(OpCodes.Mul);
		code.Emit(OpCodes.Ret);
		return (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Allocate(int round) {
		Node head = null;
		long sum = 0;
		for (int i = 0; i < 20000; i++) {
			head = new Node {Number = i, Following = head, Text = i.ToString()};
		}
		for (Node node = head; node != null; node = node.Following) {
			sum += node.Number + node.Text.Length;
		}
		Expect("new objects", sum == 199990000 + 88890);
		Expect("new code", NewCode(round)(3) == 3 * round);
		new Finalised();
	}

	static void Collect(int round) {
		Allocate(round);
		Add(counts, "rounds");
		if (round % 20 == 0) {
			GC.Collect();
			GC.WaitForPendingFinalizers();
			Expect("garbage that stays", Finalised.Made - Volatile.Read(ref Finalised.Ended) <= 1);
			CheckKept();
			lock (@lock) {
				counts["collections"] = GC.CollectionCount(0);
			}
		}
		Thread.Sleep(2);
	}

	static byte[] Data(int number) {
		var data = new byte[number * 37 % Size + 1];
		for (int i = 0; i < data.Length; i++) {
			data[i] = (byte)(number + i * 31);
		}
		return data;
	}

	static void Exchange() {
		var ends = new int[2];
		var events = new byte[12];
		var got = new byte[Size];
		int written = 0, read = 0, poll = epoll_create1(0);
		Call("socketpair", 0, socketpair(1, 1, 0, ends));
		Call("epoll_ctl", 0, epoll_ctl(poll, 1, ends[1], new byte[12] {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
		Start("write", () => {
			byte[] data = Data(written++);
			Call("write", data.Length, (long)write(ends[0], data, (IntPtr)data.Length));
			if (written % 20 == 0) {
				Call("usleep", 0, usleep(5000));
			}
		}, false);
		Start("read", () => {
			byte[] data = Data(read++);
			bool right = true;
			Call("epoll_wait", 1, epoll_wait(poll, events, 1, 60000));
			Call("recv", data.Length, (long)recv(ends[1], got, (IntPtr)data.Length, 0x100)); // MSG_WAITALL
			for (int i = 0; i < data.Length; i++) {
				right &= got[i] == data[i];
			}
			Expect("received bytes", right);
			Add(counts, "received");
		}, false);
	}

	static void Waits() {
		var events = new byte[12];
		int quiet = epoll_create1(0);
		Start("wait", () => {
			long began = Stopwatch.GetTimestamp();
			Call("epoll_wait in vain", 0, epoll_wait(quiet, events, 1, 7));
			Call("poll in vain", 0, poll(IntPtr.Zero, IntPtr.Zero, 7));
			Call("usleep", 0, usleep(7000));
			Expect("waited too short", Stopwatch.GetTimestamp() - began >= 21 * Stopwatch.Frequency / 1000);
			Add(counts, "waits");
		}, false);
	}

	static void Hand() {
		var items = new Queue<int>();
		int given = 0, wanted = 0;
		Start("give", () => {
			lock (items) {
				items.Enqueue(given++);
				Monitor.Pulse(items);
			}
			Thread.Sleep(1);
		});
		Start("take", () => {
			lock (items) {
				while (items.Count == 0) {
					Expect("a condition that is never met", Monitor.Wait(items, 60000));
				}
				while (items.Count > 0) {
					Expect("items in order", items.Dequeue() == wanted++);
				}
			}
			Add(counts, "handed");
		});
	}

	static void Beat() {
		long before = Stopwatch.GetTimestamp();
		Start("beat", () => {
			Thread.Sleep(1);
			long now = Stopwatch.GetTimestamp();
			lock (@lock) {
				if (!begins) {
					Add(phase == "alone" ? alone : looked, (int)((now - before) * 100000 / Stopwatch.Frequency));
				}
				begins = false;
			}
			before = now;
			Add(counts, "beats");
		});
	}

	/* Mono's compiler does not know of PosixSignalRegistration; without Cancel, the signal ends the program. */
	static object OnSignal(int number) {
		Action<object> handler = context => {
			context.GetType().GetProperty("Cancel").SetValue(context, true);
			Add(counts, "signals");
			Say("s");
		};
		Type type = Type.GetType("System.Runtime.InteropServices.PosixSignalRegistration, "
			+ "System.Runtime.InteropServices", true);
		Type posix = Type.GetType("System.Runtime.InteropServices.PosixSignal, System.Runtime.InteropServices", true);
		return type.GetMethod("Create").Invoke(null, new object[] {Enum.ToObject(posix, number), handler});
	}

	static void Say(string line) {
		byte[] text = Encoding.ASCII.GetBytes(line + "\n");
		Call("write to the pipe", text.Length, (long)write(1, text, (IntPtr)text.Length));
	}

	static string Json<T>(IDictionary<T, long> counters) {
		var parts = new List<string>();
		foreach (KeyValuePair<T, long> one in counters) {
			parts.Add("\"" + one.Key.ToString().Replace('"', '\'') + "\":" + one.Value);
		}
		return "{" + string.Join(",", parts) + "}";
	}

	static void Main() {
		int round = 1;
		for (int i = 0; i < Kept; i++) {
			var value = new object[i % 5 + 2];
			value[0] = i;
			value[1] = value;
			kept["key " + i] = value;
		}
		object registration = OnSignal(10);
		Start("allocate", () => Collect(round++));
		Exchange();
		Waits();
		Hand();
		Beat();
		timer = new Timer(_ => Add(counts, "ticks"), null, 5, 5);
		Say("ready");
		for (string line; (line = Console.ReadLine()) != null;) {
			lock (@lock) {
				if (line == "truth") {
					Say("{\"counts\":" + Json(counts) + ",\"wrong\":" + Json(wrong) + ",\"alone\":" + Json(alone)
						+ ",\"looked\":" + Json(looked) + "}");
				} else {
					phase = line;
					begins = true;
				}
			}
		}
		GC.KeepAlive(registration);
		GC.KeepAlive(timer);
	}
}
