// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/finish.h"

#include <errno.h>

int output_finish(FILE *out)
{
	return fflush(out) || ferror(out) ? -EIO : 0;
}
