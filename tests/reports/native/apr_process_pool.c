// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: Deltik/mod_antiloris#2. A handler of requests allocates from the process's pool.
 * APR's pools are mappings: the growth is no malloc block.
 *
 * kind: pools of a library
 * flags: -I/usr/include/apr-1.0 -lapr-1
 * leak apr-process-pool: leak
 *   part: native-blocks|other|.*(map|anonymous).*
 *   code: log_line|handler|apr_(psprintf|vformatter|pvsprintf|palloc)
 * healthy apr-request-pool: fixed
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <apr_tables.h>

static apr_pool_t *process_pool;

static char *log_line(apr_pool_t *pool, unsigned number)
{
	return apr_psprintf(pool,
			    "client 10.0.0.%u asked for /index-%u.html with a fairly long query",
			    number & 255, number);
}

static void handler(apr_pool_t *request, unsigned number, int fixed)
{
	apr_table_t *headers = apr_table_make(request, 8);

	apr_table_set(headers, "Host", "example.org");
	log_line(fixed ? request : process_pool, number);
}

int main(int count, char **arguments)
{
	int fixed = count > 1 && !strcmp(arguments[1], "fixed");

	apr_initialize();
	apr_pool_create(&process_pool, NULL);
	for (unsigned number = 0;; number++) {
		apr_pool_t *request;

		apr_pool_create(&request, process_pool);
		handler(request, number, fixed);
		apr_pool_destroy(request);
		if (number % 20 == 0)
			usleep(10000);
	}
}
