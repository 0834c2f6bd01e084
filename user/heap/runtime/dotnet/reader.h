/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of .NET from outside while it runs, without stopping it. */
#ifndef LEAKMON_RUNTIME_DOTNET_READER_H
#define LEAKMON_RUNTIME_DOTNET_READER_H

#include "process/proc/maps.h"
#include "report/dotnet_memory.h"

struct target_memory;

/* Its collections and budgets; dotnet->why says why these are not known. No file is read, and it
 * may be any process with .NET. 0 or -ENOMEM. */
int dotnet_memory_read(const struct maps *maps, struct dotnet_memory *dotnet);

/* Likewise of memory that is open, with its modules. */
int dotnet_memory_of(struct target_memory *memory, struct dotnet_memory *dotnet);

#endif
