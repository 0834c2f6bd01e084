/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What triage follows of a process or a container. */
#ifndef LEAKMON_TRIAGE_QUANTITY_H
#define LEAKMON_TRIAGE_QUANTITY_H

enum quantity {
	QUANTITY_HEAP,	  /* anonymous memory, resident and swapped out, in bytes */
	QUANTITY_MAPPING, /* mappings */
	QUANTITY_THREADS, /* threads that live */
	QUANTITY_FILES,	  /* open files */
	QUANTITY_MAX_,
};

/* One reading; NAN: not known. */
struct quantities {
	double values[QUANTITY_MAX_];
};

#endif
