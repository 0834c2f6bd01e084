// SPDX-License-Identifier: GPL-2.0-or-later
/* The word of a command line that distinguishes processes of one name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "process/proc/command_line.h"

#define EXPECT(arguments, word) expect(arguments, sizeof(arguments) - 1, word)

static void expect(const char *arguments, size_t size, const char *word)
{
	_cleanup_free_ char *subject = command_line_subject(arguments, size);

	if (word)
		assert_string_equal(subject, word);
	else
		assert_null(subject);
}

static void the_first_word_that_is_no_option_names_it(void **state)
{
	(void)state;
	EXPECT("java\0-Xmx1g\0-cp\0/lib/a.jar:/lib/b.jar\0kafka.Kafka\0server.properties\0",
	       "kafka.Kafka");
	EXPECT("/usr/bin/java\0-jar\0/srv/shop/shop.jar\0", "shop.jar");
	EXPECT("python3\0-u\0/srv/app/worker.py\0--queue\0mail\0", "worker.py");
	EXPECT("python3\0-c\0\nimport time\nwhile 1: time.sleep(1)\0", "import time");
	EXPECT("nginx: worker process\0\0\0\0", NULL);
	EXPECT("-bash\0", NULL);
	EXPECT("sleep\0"
	       "60",
	       "60");
}

static void hostile_lines_stay_within_their_bytes(void **state)
{
	(void)state;
	EXPECT("", NULL);
	EXPECT("a\0-cp", NULL);
	EXPECT("a\0dir/", "dir/");
	EXPECT("a\0/", "/");
	EXPECT("\0\0\0x", "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_word_that_is_no_option_names_it),
		cmocka_unit_test(hostile_lines_stay_within_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
