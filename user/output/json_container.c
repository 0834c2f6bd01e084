// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json_container.h"

void json_container(struct json_writer *json, const struct container *container)
{
	if (!container) {
		json_null(json, "container");
		return;
	}
	json_open(json, "container", '{');
	json_string(json, "id", container->id);
	json_string(json, "namespace", container->namespace);
	json_string(json, "pod", container->pod);
	json_string(json, "name", container->name);
	json_close(json, '}');
}
