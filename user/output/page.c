// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/page.h"

#include <string.h>

#include "output/finish.h"

/* The bundle holds this once; see user/html/src/page.html. */
#define PLACE_OF_DATA "LEAKMON_DATA"

__asm__(".pushsection .rodata\n"
	"page_bundle: .incbin \"user/html/report.html\"\n"
	"page_bundle_end:\n"
	".popsection\n");
extern const char page_bundle[], page_bundle_end[];

static const char *place_of_data(void)
{
	return memmem(page_bundle, (size_t)(page_bundle_end - page_bundle), PLACE_OF_DATA,
		      strlen(PLACE_OF_DATA));
}

void page_begin(FILE *out)
{
	fwrite(page_bundle, 1, (size_t)(place_of_data() - page_bundle), out);
}

int page_end(FILE *out)
{
	const char *rest = place_of_data() + strlen(PLACE_OF_DATA);

	fwrite(rest, 1, (size_t)(page_bundle_end - rest), out);
	return output_finish(out);
}
