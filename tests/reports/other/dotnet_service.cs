// SPDX-License-Identifier: GPL-2.0-or-later
// Objects of .NET. `event`: subscribers of a static event that never leave. `native`: memory of AllocHGlobal that is
// lost. `dictionary`: a static dictionary by request. `left`: subscribers leave. `churn`: garbage alone. `bounded`: the
// latest 2,000.
//
// kind: .NET objects
// leak dotnet-event: event
//   part: managed-objects
//   code: Subscriber
//   holder: Changed|Bus
// leak dotnet-native: native
//   kind: off-heap memory of managed objects
//   part: native-blocks|live
//   code: Program\.(Native|Step)
//   near: Malloc|coreclr|hostfxr|corehost
// leak dotnet-dictionary: dictionary
//   part: managed-objects
//   code: Session
//   holder: sessions
// healthy dotnet-event-left: left
//   warm: 20
// healthy dotnet-churn: churn
// healthy dotnet-bounded: bounded
//   warm: 25
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

class Session {
    public int Number;
    public byte[] Body = new byte[600];
}

static class Bus {
    public static event Action Changed;
    public static bool Any { get { return Changed != null; } }
}

class Subscriber {
    byte[] body = new byte[400];
    int calls;

    public void On() { calls += body.Length; }
}

static class Program {
    static readonly Dictionary<int, Session> sessions = new Dictionary<int, Session>();

    static void Subscribe(bool leaves) {
        Subscriber subscriber = new Subscriber();
        Bus.Changed += subscriber.On;
        if (leaves)
            Bus.Changed -= subscriber.On;
    }

    static void Native(int n) {
        IntPtr block = Marshal.AllocHGlobal(5000);
        for (int i = 0; i < 5000; i += 4)
            Marshal.WriteInt32(block, i, n + i);
    }

    static void Step(string mode, int n) {
        switch (mode) {
        case "event": Subscribe(false); break;
        case "left": Subscribe(true); break;
        case "native": Native(n); break;
        case "dictionary": sessions[n] = new Session { Number = n }; break;
        case "bounded": sessions[n] = new Session { Number = n }; sessions.Remove(n - 2000); break;
        default: sessions[0] = new Session { Number = n }; break;
        }
    }

    static void Main(string[] arguments) {
        string mode = arguments.Length > 0 ? arguments[0] : "churn";
        for (int n = 0;; n++) {
            Step(mode, n);
            if (n % 5 == 0)
                Thread.Sleep(20);
        }
    }
}
