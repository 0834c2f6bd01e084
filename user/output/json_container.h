/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_OUTPUT_JSON_CONTAINER_H
#define LEAKMON_OUTPUT_JSON_CONTAINER_H

#include "output/json_writer.h"
#include "proc/container.h"

/* "container":{"id","namespace","pod","name"}, or null outside any; unknown names are null, as are
 * those that are only claimed: then there are "proven":false and "claims", too. */
void json_container(struct json_writer *json, const struct container *container);

#endif
