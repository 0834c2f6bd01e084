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
		{"v8", "Array"},	{"v8", "ArrayBuffer"},	{"v8", "AsyncFunction"},
		{"v8", "BigInt"},	{"v8", "Boolean"},	{"v8", "DataView"},
		{"v8", "Date"},		{"v8", "Error"},	{"v8", "FastBuffer"},
		{"v8", "Float32Array"}, {"v8", "Float64Array"}, {"v8", "Function"},
		{"v8", "Int32Array"},	{"v8", "Map"},		{"v8", "Number"},
		{"v8", "Object"},	{"v8", "Promise"},	{"v8", "Proxy"},
		{"v8", "RegExp"},	{"v8", "Set"},		{"v8", "String"},
		{"v8", "Symbol"},	{"v8", "Uint32Array"},	{"v8", "Uint8Array"},
		{"v8", "WeakMap"},	{"v8", "WeakRef"},	{"v8", "WeakSet"},
		{"hotspot", "boolean"}, {"hotspot", "byte"},	{"hotspot", "char"},
		{"hotspot", "double"},	{"hotspot", "float"},	{"hotspot", "int"},
		{"hotspot", "long"},	{"hotspot", "short"},	{"php", "array"},
		{"php", "ArrayObject"}, {"php", "Closure"},	{"php", "Fiber"},
		{"php", "Generator"},	{"php", "reference"},	{"php", "resource"},
		{"php", "SplQueue"},	{"php", "stdClass"},	{"php", "string"},
		{"php", "WeakMap"},
	};
	size_t length = strcspn(name, "[");

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (!strcmp(classes[i].runtime, runtime) && strlen(classes[i].name) == length &&
		    !strncmp(classes[i].name, name, length))
			return true;
	}
	return false;
}

/* Returns whether the name is one of the program's: a language's own containers grow with their
 * contents, and prove nothing. */
static bool is_of_program(const char *runtime, const char *name)
{
	/*
	 * V8's own classes are in parentheses; functions of its libraries have a file "node:...".
	 */
	static const char *const libraries[] = {
		"System.", "Microsoft.", "java.",     "javax.", "jdk.",
		"sun.",	   "com.sun.",	 "ghc-prim:", "GHC.",	"("};
	static const char *const without_packages[] = {"v8", "hotspot", "php"};

	if (text_begins_with_any(name, libraries, ARRAY_SIZE(libraries)) || strstr(name, " node:"))
		return false;
	return strchr(name, '.') ||
	       (text_begins_with_any(runtime, without_packages, ARRAY_SIZE(without_packages)) &&
		!is_built_in(runtime, name));
}

static bool is_of_code(const char *runtime, const char *name)
{
	static const char *const names[] = {
		"(AllocationSite)",
		"(ByteArray)",
		"(BytecodeArray)",
		"(Code)",
		"(CodeDataContainer)",
		"(DescriptorArray)",
		"(FeedbackCell)",
		"(FeedbackMetadata)",
		"(FeedbackVector)",
		"(InstructionStream)",
		"(LoadHandler)",
		"(Map)",
		"(PropertyCell)",
		"(PrototypeInfo)",
		"(ScopeInfo)",
		"(StoreHandler)",
		"(StrongDescriptorArray)",
		"(TransitionArray)",
	};

	if (strcmp(runtime, "v8") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
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
