/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a recording: one SQLite database per run of the monitor.
 * user/doc/recording-format.md documents them for readers; sqlite.org documents the format.
 *
 * A row of `points` or `ledgers` holds for its snapshot and all later ones up to the next row of
 * the same site or process. Snapshots with `is_full` have a row for everything present, so a state
 * is read from the preceding full snapshot on.
 */
#ifndef LEAKMON_STORE_SCHEMA_H
#define LEAKMON_STORE_SCHEMA_H

/* PRAGMA application_id: "LKMN"; identifies a recording to file(1) and to leakmon. */
#define SCHEMA_APPLICATION_ID 0x4c4b4d4e
/* PRAGMA user_version. Readers refuse any other. */
#define SCHEMA_VERSION 1

/*
 * The statements that create the tables, NULL-terminated. The tables of families (figure_rows.h)
 * are additional.
 */
extern const char *const schema_sql[];

#endif
