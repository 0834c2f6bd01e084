// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/class_origin.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Classes of languages without packages that are not the program's. */
static bool is_built_in(const char *runtime, const char *name)
{
	static const struct {
		const char *runtime, *name;
	} classes[] = {
		{"v8", "Array"},
		{"v8", "ArrayBuffer"},
		{"v8", "AsyncFunction"},
		{"v8", "BigInt"},
		{"v8", "Boolean"},
		{"v8", "DataView"},
		{"v8", "Date"},
		{"v8", "Error"},
		{"v8", "FastBuffer"},
		{"v8", "Float32Array"},
		{"v8", "Float64Array"},
		{"v8", "Function"},
		{"v8", "Int32Array"},
		{"v8", "Map"},
		{"v8", "Number"},
		{"v8", "Object"},
		{"v8", "Promise"},
		{"v8", "Proxy"},
		{"v8", "RegExp"},
		{"v8", "Set"},
		{"v8", "String"},
		{"v8", "Symbol"},
		{"v8", "Uint32Array"},
		{"v8", "Uint8Array"},
		{"v8", "WeakMap"},
		{"v8", "WeakRef"},
		{"v8", "WeakSet"},
		{"hotspot", "boolean"},
		{"hotspot", "byte"},
		{"hotspot", "char"},
		{"hotspot", "double"},
		{"hotspot", "float"},
		{"hotspot", "int"},
		{"hotspot", "long"},
		{"hotspot", "short"},
		{"ruby", "Array"},
		{"ruby", "Binding"},
		{"ruby", "Class"},
		{"ruby", "Complex"},
		{"ruby", "Dir"},
		{"ruby", "Encoding"},
		{"ruby", "Enumerator"},
		{"ruby", "Exception"},
		{"ruby", "Fiber"},
		{"ruby", "File"},
		{"ruby", "Float"},
		{"ruby", "Hash"},
		{"ruby", "IO"},
		{"ruby", "Integer"},
		{"ruby", "MatchData"},
		{"ruby", "Method"},
		{"ruby", "Module"},
		{"ruby", "Monitor"},
		{"ruby", "Object"},
		{"ruby", "Pathname"},
		{"ruby", "Proc"},
		{"ruby", "Ractor"},
		{"ruby", "Random"},
		{"ruby", "Range"},
		{"ruby", "Rational"},
		{"ruby", "Regexp"},
		{"ruby", "Set"},
		{"ruby", "String"},
		{"ruby", "StringIO"},
		{"ruby", "Symbol"},
		{"ruby", "TCPServer"},
		{"ruby", "TCPSocket"},
		{"ruby", "Thread"},
		{"ruby", "Time"},
		{"ruby", "TracePoint"},
		{"ruby", "UnboundMethod"},
	};
	size_t length = strcspn(name, "[");

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (!strcmp(classes[i].runtime, runtime) && strlen(classes[i].name) == length &&
		    !strncmp(classes[i].name, name, length))
			return true;
	}
	return false;
}

/* For the program itself, as far as its name shows: a language's own containers grow with whatever
 * is in them. */
static bool is_of_program(const char *runtime, const char *name)
{
	/* Those of V8 stand in parentheses, and its functions have the file that they are in. */
	static const char *const libraries[] = {
		"System.",   "Microsoft.",   "java.",	   "javax.",	    "jdk.",   "sun.",
		"com.sun.",  "ghc-prim:",    "Gem::",	   "RubyVM::",	    "IO::",   "Thread::",
		"Process::", "Enumerator::", "Encoding::", "ObjectSpace::", "File::", "("};
	static const char *const without_packages[] = {"v8", "hotspot", "ruby"};

	if (text_begins_with_any(name, libraries, ARRAY_SIZE(libraries)) || strstr(name, " node:"))
		return false;
	return strchr(name, '.') ||
	       (text_begins_with_any(runtime, without_packages, ARRAY_SIZE(without_packages)) &&
		!is_built_in(runtime, name));
}

static bool is_of_code(const char *runtime, const char *name)
{
	static const struct {
		const char *runtime, *name;
	} names[] = {
		{"v8", "(AllocationSite)"},
		{"v8", "(ByteArray)"},
		{"v8", "(BytecodeArray)"},
		{"v8", "(Code)"},
		{"v8", "(CodeDataContainer)"},
		{"v8", "(DescriptorArray)"},
		{"v8", "(FeedbackCell)"},
		{"v8", "(FeedbackMetadata)"},
		{"v8", "(FeedbackVector)"},
		{"v8", "(InstructionStream)"},
		{"v8", "(LoadHandler)"},
		{"v8", "(Map)"},
		{"v8", "(PropertyCell)"},
		{"v8", "(PrototypeInfo)"},
		{"v8", "(ScopeInfo)"},
		{"v8", "(StoreHandler)"},
		{"v8", "(StrongDescriptorArray)"},
		{"v8", "(TransitionArray)"},
		{"ruby", "(bytecode)"},
		{"ruby", "(call cache)"},
		{"ruby", "(call info)"},
		{"ruby", "(constant cache)"},
		{"ruby", "(method entry)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(runtime, names[i].runtime) && !strcmp(name, names[i].name))
			return true;
	}
	return false;
}

enum class_origin class_origin_of(const char *runtime, const char *name)
{
	if (!runtime || !name)
		return CLASS_OF_LANGUAGE;
	if (is_of_code(runtime, name))
		return CLASS_OF_CODE;
	return is_of_program(runtime, name) ? CLASS_OF_PROGRAM : CLASS_OF_LANGUAGE;
}
