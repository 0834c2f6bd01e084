// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json_container.h"

void json_container(struct json_writer *json, const struct container *container)
{
	if (!container) {
		json_put_null(json, "container");
		return;
	}
	json_open(json, "container", '{');
	json_put_string(json, "id", container->id);
	json_put_string(json, "namespace", container->namespace);
	json_put_string(json, "pod", container->pod);
	json_put_string(json, "name", container->name);
	if (container->doubt) {
		json_put_bool(json, "proven", false);
		json_open(json, "claims", '{');
		json_put_string(json, "namespace", container->claims.namespace);
		json_put_string(json, "pod", container->claims.pod);
		json_put_string(json, "name", container->claims.name);
		json_close(json, '}');
	}
	json_close(json, '}');
}
