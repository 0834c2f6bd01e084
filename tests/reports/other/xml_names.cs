// SPDX-License-Identifier: GPL-2.0-or-later
// Report: dotnet/corefx#36404. Every element name stays in the table of its XNamespace. `fixed`: the same names.
//
// kind: .NET objects
// flags: -r:System.Xml.Linq.dll
// leak xml-names: leak
//   part: managed-objects
//   code: XName|XHashtable|Entry
//   holder: _names|XNamespace
// healthy xml-same-names: fixed
//   warm: 20
using System;
using System.Threading;
using System.Xml.Linq;

static class Program {
    static int Parse(string xml) { return XDocument.Parse(xml).Root.Name.LocalName.Length; }

    static void Main(string[] arguments) {
        bool isFixed = arguments.Length > 0 && arguments[0] == "fixed";
        for (int n = 0;; n++) {
            int name = isFixed ? 0 : n;
            Parse("<x" + name + "><y" + name + "/></x" + name + ">");
            if (n % 10 == 0)
                Thread.Sleep(20);
        }
    }
}
