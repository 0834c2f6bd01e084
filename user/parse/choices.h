/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user may choose of the probes. */
#ifndef LEAKMON_PARSE_CHOICES_H
#define LEAKMON_PARSE_CHOICES_H

/* The cheapest instruction that is proven to be as good, or always the first; see placement.h. */
enum probe_at { PROBE_AT_BEST, PROBE_AT_ENTRY };

/* In the order of preference; what each is, see attach.h. */
enum attach_method { ATTACH_AUTO, ATTACH_SESSION, ATTACH_MULTI, ATTACH_PERF };

#endif
