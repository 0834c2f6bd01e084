/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the separate debug file of a stripped one, as gdb does (its manual, "Separate Debug
 * Files"): by build-id, then by .gnu_debuglink, at last over the network. Only a file with the same
 * build-id is taken.
 */
#ifndef LEAKMON_SYMBOL_DEBUG_FILE_H
#define LEAKMON_SYMBOL_DEBUG_FILE_H

#include "elf/debug_sections.h"

struct debuginfod;
struct worker;

struct debug_request {
	struct worker *worker;	       /* looks into what is found */
	struct debuginfod *debuginfod; /* NULL: only what is on this machine */
	const char *build_id;	       /* of the stripped file; "": nothing can be found */
	const char *link;	       /* its .gnu_debuglink; "": none */
	const char *path;	       /* where its process maps it from; may be "" */
	int task;		       /* whose root is searched before our own; 0: our own only */
};

/* A descriptor that the caller closes, and what is in it; -ENOENT; -EAGAIN: it is being fetched. */
int debug_file_open(const struct debug_request *request, struct debug_description *found);
/* The same, from debuginfod alone. */
int debug_file_fetch(const struct debug_request *request, struct debug_description *found);

/*
 * The same for what dwz moved out into a file shared by several (.gnu_debugaltlink), of which
 * request->build_id and request->link tell. The link may be relative to the directory of the debug
 * file, for which the usual place is taken.
 */
int debug_file_open_alternate(const struct debug_request *request);

#endif
