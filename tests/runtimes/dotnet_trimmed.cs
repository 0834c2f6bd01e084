// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A .NET program as dotnet_stories.cs, with the stories "census" and "busy" alone, of what a program
 * that was trimmed has left of the libraries. Texts are not put together with +: Mono's compiler
 * would read types that it does not know.
 */
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Planted {
	class Subscriber {
		public int Number;
		public Subscriber Next;
	}

	struct Pair {
		public object Left;
		public int Number;
	}

	static class Cart {
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Leak() {
			Marshal.AllocHGlobal((IntPtr)10007);
			GC.KeepAlive(null);
		}
	}

	static class Census {
		public static Subscriber[] all;
		public static Subscriber first;
		public static Pair[] pairs;
		[ThreadStatic] public static object[] own;

		public static void Plant(int count) {
			all = new Subscriber[count];
			pairs = new Pair[50];
			for (int i = 0; i < count; i++) {
				Subscriber made = new Subscriber();
				made.Number = i;
				made.Next = first;
				all[i] = first = made;
			}
			for (int i = 0; i < 50; i++)
				pairs[i].Left = new int[10 + i];
			own = new object[7];
			for (int i = 0; i < 7; i++)
				own[i] = new Subscriber[i, 2];
		}
	}
}

static class Program {
	static object recent;

	static void Churn() {
		object[] kept = new object[5000];

		for (int i = 0;; i++) {
			kept[i % 5000] = new byte[100 + i % 400];
			if (i % 5000 == 0)
				kept = new object[5000];
		}
	}

	static void Allocate(int number, int size) {
		for (int i = 0; i < number; i++)
			recent = new byte[size];
	}

	static void Answer(string line) {
		if (line == "collections") {
			Console.Write("{\"counts\":[");
			Console.Write(GC.CollectionCount(0).ToString());
			Console.Write(",");
			Console.Write(GC.CollectionCount(1).ToString());
			Console.Write(",");
			Console.Write(GC.CollectionCount(2).ToString());
			Console.WriteLine("]}");
			return;
		}
		/* GC.Collect(int) is not there. */
		if (line == "young") {
			int before = GC.CollectionCount(0);

			while (GC.CollectionCount(0) == before)
				Allocate(1, 1000);
		}
		if (line == "leak") {
			for (int i = 0; i < 400; i++)
				Planted.Cart.Leak();
			Console.WriteLine("{\"frames\":[\"Planted.Cart.Leak\",\"Program.Answer\",\"Program.Main\"]}");
			return;
		}
		if (line == "small")
			Allocate(1000, 1000);
		if (line == "large")
			Allocate(1, 1000000);
		Console.WriteLine("done");
	}

	static int Main(string[] arguments) {
		Planted.Census.Plant(300);
		for (int i = 0; i < 3; i++) {
			GC.Collect();
			GC.WaitForPendingFinalizers();
		}
		if (arguments[0] == "busy") {
			for (int i = 0; i < 2; i++) {
				Thread thread = new Thread(Churn);
				thread.IsBackground = true;
				thread.Start();
			}
		}
		Console.WriteLine("ready");
		for (;;) {
			string line = Console.ReadLine();
			if (line == null)
				break;
			Answer(line);
		}
		return Planted.Census.own.Length - 7;
	}
}
