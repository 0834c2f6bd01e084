/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a recording: one SQLite database per run of the monitor.
 * user/doc/recording-format.md documents them for readers; sqlite.org documents the format.
 *
 * A row of `points` or `ledgers` stands for its snapshot and for all later ones up to the next row
 * of the same site or process. Snapshots with `is_full` have a row for everything that is there, so
 * a state is read from the last full snapshot before it.
 */
#ifndef LEAKMON_STORE_SCHEMA_H
#define LEAKMON_STORE_SCHEMA_H

/* PRAGMA application_id: "LKMN"; how file(1) and we recognise a recording. */
#define SCHEMA_APPLICATION_ID 0x4c4b4d4e
/*
 * PRAGMA user_version. Readers refuse what is newer, and read what is older.
 *
 *   1  snapshots, sites, points, ledgers
 *   2  retains and what belongs to them; threads, dead_threads, mapping_ledgers
 *   3  by_dead, and columns about it in snapshots; retain_roots.threads,
 *      retains.dropped
 *   4  profiles and what belongs to them
 *   5  hosts, processes.host; meta has the boot_id
 *   6  estimates
 *   7  memory, memory_parts
 *   8  descriptor_ledgers; sites.patterns
 *   9  diagnoses
 *  10  goroutines, goroutine_groups, heap_profiles, heap_profile_sites
 *  11  the part `page_tables` in memory_parts; retains.passing_blocks, passing_bytes;
 *      retain_steps.turn, turns, skipped
 */
#define SCHEMA_VERSION 11

/* The tables of families (figure_rows.h) come on top. */
extern const char schema_sql[]; /* of version 1 */
/* Added by version 2. */
extern const char schema_retain_sql[];
extern const char schema_threads_sql[];
/* Added by version 3. */
extern const char schema_owners_sql[];
/* Added by version 4. */
extern const char schema_profiles_sql[];
/* Added by version 5. */
extern const char schema_hosts_sql[];
/* Added by version 6. */
extern const char schema_estimates_sql[];
/* Added by version 7. */
extern const char schema_memory_sql[];
/* Added by version 8. */
extern const char schema_descriptors_sql[];
/* Added by version 9. */
extern const char schema_diagnoses_sql[];
/* Added by version 10. */
extern const char schema_goroutines_sql[];
/* Added by version 11. */
extern const char schema_turns_sql[];

#endif
