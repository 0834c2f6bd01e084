// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/progress.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define NS_PER_S UINT64_C(1000000000)
#define FIRST_NS (2 * NS_PER_S)
#define EVERY_NS (NS_PER_S / 2)
#define SHARE_MIN 0.05

void progress_text(char *text, size_t size, const char *what, double share, uint64_t elapsed_ns)
{
	double elapsed_s = (double)elapsed_ns / (double)NS_PER_S;
	int written = snprintf(text, size, "%s: %.0f %%", what, share * 100);

	if (written > 0 && (size_t)written < size && share >= SHARE_MIN)
		snprintf(text + written, size - (size_t)written, ", about %.0f s left",
			 elapsed_s * (1 - share) / share);
}

void progress_begin(struct progress *progress)
{
	bool wanted = isatty(STDERR_FILENO) && log_get_level() == LOG_INFO;

	*progress = (struct progress){.out = wanted ? stderr : NULL, .began_ns = monotonic_ns()};
}

void progress_at(struct progress *progress, const char *what, double share)
{
	uint64_t now_ns;
	char text[96];

	if (!progress || !progress->out)
		return;
	now_ns = monotonic_ns();
	if (now_ns - progress->began_ns < FIRST_NS || now_ns - progress->shown_ns < EVERY_NS)
		return;
	progress_text(text, sizeof(text), what, share, now_ns - progress->began_ns);
	fprintf(progress->out, "\r\033[Kleakmon: %s", text);
	fflush(progress->out);
	progress->shown_ns = now_ns;
	progress->shown = true;
}

void progress_end(struct progress *progress)
{
	if (progress->shown) {
		fputs("\r\033[K", progress->out);
		fflush(progress->out);
	}
	progress->shown = false;
}
