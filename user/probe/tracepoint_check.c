// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/tracepoint_check.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

/* The function type behind btf_trace_NAME, a pointer to what a probe of it must look like. */
static const struct btf_type *probe_type(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *type;
	char name[128];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	if (!type || !btf_is_ptr(type))
		return NULL;
	type = btf__type_by_id(btf, type->type);
	return type && btf_is_func_proto(type) ? type : NULL;
}

static bool argument_is(const struct btf *btf, unsigned id, char letter)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	if (!type)
		return false;
	if (letter == 'p')
		return btf_is_ptr(type);
	return (btf_is_int(type) || btf_is_any_enum(type)) &&
	       type->size == (unsigned)(letter - '0');
}

bool tracepoint_has(const struct btf *btf, const char *tracepoint, const char *signature)
{
	const struct btf_type *type = probe_type(btf, tracepoint);
	size_t count = strlen(signature);

	/* The first parameter is not an argument: the probe's own data. */
	if (!type || btf_vlen(type) < count + 1)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!argument_is(btf, btf_params(type)[i + 1].type, signature[i]))
			return false;
	}
	return true;
}
