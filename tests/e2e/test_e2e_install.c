// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of `make install` other than the program: manual page, completion, schemas, alerts. */
#include "screen.h"

/* A shell command with $D, the test's directory; its output, on standard error as well. */
static struct child *shell(struct harness *harness, const char *script)
{
	char command[2048];

	snprintf(command, sizeof(command), "D=%s; exec 2>&1; %s", harness->directory, script);
	return child_start(harness, "/bin/bash", ARGUMENTS("bash", "--norc", "-c", command), NULL);
}

static const char *output_of(struct harness *harness, const char *script)
{
	struct child *child = shell(harness, script);
	int code = child_end(harness, child);

	if (code)
		fail_msg("%s: exit code %d\n%s", script, code,
			 child->out.text ? child->out.text : "");
	return child->out.text ? child->out.text : "";
}

static void everything_is_installed_where_it_belongs(void **state)
{
	struct harness *harness = harness_any(state);

	assert_string_equal(output_of(harness, "make -s install DESTDIR=$D PREFIX=/usr >/dev/null; "
					       "cd $D && find usr -type f -printf '%m %p\\n' | "
					       "sort"),
			    "644 usr/lib/systemd/system/leakmon.service\n"
			    "644 usr/share/bash-completion/completions/leakmon\n"
			    "644 usr/share/fish/vendor_completions.d/leakmon.fish\n"
			    "644 usr/share/leakmon/alerts.yml\n"
			    "644 usr/share/leakmon/grafana.json\n"
			    "644 usr/share/leakmon/leakmon.apparmor\n"
			    "644 usr/share/leakmon/schema/diagnosis.schema.json\n"
			    "644 usr/share/leakmon/schema/diff.schema.json\n"
			    "644 usr/share/leakmon/schema/event.schema.json\n"
			    "644 usr/share/leakmon/schema/memory.schema.json\n"
			    "644 usr/share/leakmon/schema/profile.schema.json\n"
			    "644 usr/share/leakmon/schema/profile_diff.schema.json\n"
			    "644 usr/share/leakmon/schema/report.schema.json\n"
			    "644 usr/share/leakmon/schema/retain.schema.json\n"
			    "644 usr/share/leakmon/schema/retain_diff.schema.json\n"
			    "644 usr/share/leakmon/schema/threads.schema.json\n"
			    "644 usr/share/leakmon/schema/triage.schema.json\n"
			    "644 usr/share/leakmon/systemd/network.conf\n"
			    "644 usr/share/leakmon/systemd/old-kernel.conf\n"
			    "644 usr/share/man/man8/leakmon.8\n"
			    "644 usr/share/zsh/vendor-completions/_leakmon\n"
			    "755 usr/sbin/leakmon\n");
}

static void the_manual_is_without_a_warning(void **state)
{
	struct harness *harness = harness_any(state);

	assert_string_equal(output_of(harness, "mandoc -T lint -W warning user/man/leakmon.8"), "");
	assert_string_equal(output_of(harness, "man --warnings -E UTF-8 -l user/man/leakmon.8 "
					       "2>&1 >/dev/null"),
			    "");
}

static void completion_offers_what_the_options_take(void **state)
{
	static const struct {
		const char *words, *offers;
	} cases[] = {
		{"leakmon re", "record report retain"},
		{"leakmon wat", "watch"},
		{"leakmon help re", "record report retain"},
		{"leakmon --forma", "--format"},
		{"leakmon --esc", "--escalate"},
		{"leakmon triage --esc", "--escalate"},
		{"leakmon triage --pi", ""},
		{"leakmon triage --format pr", "prom"},
		{"leakmon kernel --so", "--sort"},
		{"leakmon record --esc", ""},
		{"leakmon --format = js", "json"},
		{"leakmon diff x --by f", "function file"},
		{"leakmon top --sort a", "age"},
		{"leakmon report x --at ''", "first last"},
		{"leakmon record -o Makef", "Makefile"},
		{"leakmon -o ''", ""}, /* --older: a number */
		{"leakmon diff Makef", "Makefile"},
		{"leakmon --textfile-dir scr", "scripts"},
		{"leakmon -- sha256s", "sha256sum"},
		{"leakmon -- ls Makef", "Makefile"},
		{"leakmon -p 1,999999,$$", "1,999999,$$"},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char script[512];

		snprintf(script, sizeof(script),
			 "build/leakmon --completion bash > $D/c; . $D/c; COMP_WORDS=(%s); "
			 "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _leakmon; "
			 "[[ ${COMPREPLY[*]} == \"%s\" ]] || { echo \"${COMPREPLY[*]}\"; exit 1; }",
			 cases[i].words, cases[i].offers);
		output_of(harness, script);
	}
}

/* The same rows in another shell, which shows their purpose. */
static void fish_offers_the_same_with_what_it_is_for(void **state)
{
	static const struct {
		const char *line, *offers;
	} cases[] = {
		{"leakmon wat", "watch\tshow outstanding allocations by call stack (default with a "
				"target)\n"},
		{"leakmon triage --pi", ""},
		{"leakmon diff x --by fi", "file\twhat is compared (site)\n"},
		{"leakmon record -o Makef", "Makefile\n"},
		{"leakmon report LICEN", "LICENSE\n"},
		{"leakmon -o 1", ""},
		{"leakmon help kern", "kernel\n"},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char script[512];

		snprintf(script, sizeof(script),
			 "HOME=$D fish --no-config -c 'build/leakmon --completion fish | source; "
			 "complete -C \"%s\"'",
			 cases[i].line);
		assert_string_equal(output_of(harness, script), cases[i].offers);
	}
}

/* A process may choose any name: nothing of it is executed, and it is quoted. */
static void completion_of_hostile_names_is_inert(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *sleeper = child_start(
		harness, "/bin/bash",
		ARGUMENTS("bash", "-c", "printf 'zz$(id>x);*' > /proc/$$/comm; echo named; read"),
		NULL);

	child_wait_text(harness, sleeper, &sleeper->out, "named");
	assert_string_equal(output_of(harness, "build/leakmon --completion bash > $D/c; . $D/c; "
					       "cd $D; COMP_WORDS=(leakmon -n zz) COMP_CWORD=2; "
					       "_leakmon; echo \"${COMPREPLY[0]}\"; ls x 2>&1"
					       " | grep -c 'No such'"),
			    "zz\\$\\(id\\>x\\)\\;\\*\n1\n");
}

static void a_tab_completes_in_a_real_shell(void **state)
{
	struct harness *harness = harness_any(state);
	struct screen screen;
	char text[128];

	screen_start(&screen, harness, 100, 10, "--version; exec bash --norc -i");
	screen_expect(&screen, "bash-");
	snprintf(text, sizeof(text),
		 "-l 'clear; . <(build/leakmon --completion bash); echo loa''ded'");
	screen_press(&screen, text);
	screen_press(&screen, "Enter");
	screen_expect(&screen, "loaded\n");
	screen_press(&screen, "-l 'leakmon diff --b'");
	screen_press(&screen, "Tab");
	screen_expect(&screen, "leakmon diff --by\n");
	screen_press(&screen, "-l ' mod'");
	screen_press(&screen, "Tab");
	screen_expect(&screen, "leakmon diff --by module");
}

static void a_tab_completes_in_zsh(void **state)
{
	struct harness *harness = harness_any(state);
	struct screen screen;

	screen_start(&screen, harness, 100, 10, "--version; exec zsh -f -i");
	screen_expect(&screen, "#\n");
	screen_press(&screen, "-l 'clear; autoload -U compinit; compinit -u -D; "
			      ". <(build/leakmon --completion zsh); echo loa''ded'");
	screen_press(&screen, "Enter");
	screen_expect(&screen, "loaded\n");
	screen_press(&screen, "-l 'leakmon diff --b'");
	screen_press(&screen, "Tab");
	screen_expect(&screen, "leakmon diff --by");
	screen_press(&screen, "-l ' mod'");
	screen_press(&screen, "Tab");
	screen_expect(&screen, "module");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(everything_is_installed_where_it_belongs),
		e2e_test(the_manual_is_without_a_warning),
		e2e_test(completion_offers_what_the_options_take),
		e2e_test(completion_of_hostile_names_is_inert),
		e2e_test(a_tab_completes_in_a_real_shell),
		e2e_test(fish_offers_the_same_with_what_it_is_for),
		e2e_test(a_tab_completes_in_zsh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
