// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;

class Item
{
    public int Number;
    public object[] List;
}

static class Bench
{
    static readonly List<Item> kept = new List<Item>();
    static long longest;

    static void Beat()
    {
        for (long before = Stopwatch.GetTimestamp();;) {
            Thread.Sleep(1);
            long now = Stopwatch.GetTimestamp();
            longest = Math.Max(longest, now - before);
            before = now;
        }
    }

    static void Main(string[] arguments)
    {
        int count = int.Parse(arguments[0]) / 2;
        for (int i = 0; i < count; i++) {
            var item = new Item { Number = i };
            item.List = new object[] { "x", item };
            kept.Add(item);
        }
        new Thread(Beat) { IsBackground = true }.Start();
        Console.WriteLine("ready");
        while (Console.ReadLine() != null) {
            Console.WriteLine((double)Interlocked.Exchange(ref longest, 0) / Stopwatch.Frequency);
        }
        GC.KeepAlive(kept);
    }
}
