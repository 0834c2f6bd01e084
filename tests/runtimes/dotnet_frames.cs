// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocates native memory through chains of methods. The commands "leak", "box", "shared", "lambda"
 * and "context", each with a number of allocations, are answered with the call stack as the runtime
 * itself names it, innermost method first: {"frames":["Planted.Cart.Leak","Planted.Cart.Serve",…]}.
 * "settle MILLISECONDS" waits until the runtime has recompiled the methods that were called often;
 * "drip" leaks until the program ends.
 */
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Planted {
	/* Of a number it has code of its own; classes share one. */
	class Box<T> {
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Fill(int size) {
			Frames.Note();
			Marshal.AllocHGlobal(size);
			Frames.End();
		}
	}

	static class Cart {
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Leak(int size) {
			Frames.Note();
			Marshal.AllocHGlobal(size);
			Frames.End();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Serve(int size) {
			Leak(size);
			Frames.End();
		}
	}

	static class Frames {
		static readonly object end = new object();
		static string[] names;

		/* What is behind a call is no tail call. */
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void End() {
			GC.KeepAlive(end);
		}

		public static void Forget() {
			names = null;
		}

		static string Name(MethodBase method) {
			Type type = method.DeclaringType;
			string name = type.FullName.Replace('+', '.');
			int tick = name.IndexOf('`');

			/* A stack trace has the definition alone. */
			if (tick >= 0)
				name = name.Substring(0, tick) + "<*>";
			return name + "." + method.Name;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Note() {
			if (names != null)
				return;
			List<string> all = new List<string>();
			foreach (StackFrame frame in new StackTrace(1).GetFrames())
				all.Add(Name(frame.GetMethod()));
			names = all.ToArray();
		}

		public static string Text(string argument) {
			return "{\"frames\":[\"" + string.Join("\",\"", names).Replace("*", argument) + "\"]}";
		}
	}
}

static class Program {
	static void Callback(object nothing) {
		Planted.Cart.Leak(50021);
		Planted.Frames.End();
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Once(string kind) {
		int number = 40009;
		Action lambda = () => { Planted.Cart.Leak(number); Planted.Frames.End(); };

		switch (kind) {
		case "leak": Planted.Cart.Serve(10007); break;
		case "box": Planted.Box<int>.Fill(20011); break;
		case "shared": Planted.Box<string>.Fill(30011); break;
		case "lambda": lambda(); break;
		/* By a precompiled method of the library. */
		case "context": ExecutionContext.Run(ExecutionContext.Capture(), Callback, null); break;
		}
		Planted.Frames.End();
	}

	static void Main(string[] arguments) {
		Console.WriteLine("ready");
		Console.Out.Flush();
		for (string line; (line = Console.ReadLine()) != null;) {
			string[] words = line.Split(' ');

			for (int i = 0; words[0] == "drip"; i++) {
				Planted.Cart.Serve(5000);
				if (i % 5 == 0)
					Thread.Sleep(20);
			}
			if (words[0] == "settle") {
				Thread.Sleep(int.Parse(words[1]));
				Console.WriteLine("{}");
				Console.Out.Flush();
				continue;
			}
			Planted.Frames.Forget();
			for (int i = 0; i < int.Parse(words[1]); i++)
				Once(words[0]);
			Console.WriteLine(Planted.Frames.Text(words[0] == "box" ? "System.Int32" : "System.__Canon"));
			Console.Out.Flush();
		}
	}
}
