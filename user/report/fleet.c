// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/fleet.h"

#include <stdlib.h>

void fleet_free(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->builds.count; i++)
		vec_free(&fleet->builds.items[i].sites);
	vec_free(&fleet->builds);
}
