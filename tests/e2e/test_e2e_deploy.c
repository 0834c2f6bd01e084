// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contents of scripts/deploy/: alerts that fire on our metrics, a dashboard that shows no other, a
 * systemd unit and DaemonSets with command lines that leakmon accepts.
 */
#include "shell.h"

#define ALERTS "scripts/deploy/alerts.yml"
#define DASHBOARD "scripts/deploy/grafana.json"

static void alerts_fire_when_they_should(void **state)
{
	struct harness *harness = harness_any(state);
	const char *promtool = consumer("promtool");

	free(shell(harness, 0, "%s check rules " ALERTS " 2>&1", promtool));
	free(shell(harness, 0, "%s test rules tests/golden/alerts_test.yml 2>&1", promtool));
}

/* Metrics of triage, of a process with every cause of loss and inexactness, and hostile names. */
static void metrics_have_no_fault(void **state)
{
	static const char *const files[] = {"triage", "report", "hostile"};
	struct harness *harness = harness_any(state);
	const char *promtool = consumer("promtool");

	for (size_t i = 0; i < 3; i++) {
		char *text = shell(harness, 0, "%s check metrics < tests/golden/%s.prom 2>&1",
				   promtool, files[i]);

		assert_string_equal(text, "");
		free(text);
	}
}

/* The golden files contain every metric except those of rare events. */
static void only_metrics_that_exist_are_asked_for(void **state)
{
	struct harness *harness = harness_any(state);
	char *unknown =
		shell(harness, 0,
		      "grep -oh 'leakmon_[a-z_]*' " ALERTS " " DASHBOARD " | sort -u > %s/asked; "
		      "{ sed -nE 's/^(# TYPE )?(leakmon_[a-z_]+).*/\\2/p' tests/golden/*.prom; "
		      "sed -nE 's/.*prom_header.out, \"([a-z_]+)\".*/leakmon_\\1/p' "
		      "user/output/prom/*.c; } "
		      "| sort -u > %s/there; "
		      "test -s %s/asked && comm -23 %s/asked %s/there",
		      harness->directory, harness->directory, harness->directory,
		      harness->directory, harness->directory);

	assert_string_equal(unknown, "");
	free(unknown);
}

static void only_rules_that_exist_are_asked_for(void **state)
{
	struct harness *harness = harness_any(state);
	char *unknown = shell(harness, 0,
			      "grep -oh 'leakmon:[a-z_:]*' " DASHBOARD " | sort -u > %s/asked; "
			      "sed -n 's/.*record: //p' " ALERTS " | sort -u > %s/there; "
			      "test -s %s/asked && comm -23 %s/asked %s/there",
			      harness->directory, harness->directory, harness->directory,
			      harness->directory, harness->directory);

	assert_string_equal(unknown, "");
	free(unknown);
}

static void the_dashboard_is_one_that_grafana_reads(void **state)
{
	json_t *dashboard, *panels, *panel;
	size_t i;

	(void)harness_any(state);
	dashboard = json_load_file(DASHBOARD, JSON_REJECT_DUPLICATES, NULL);
	panels = json_object_get(dashboard, "panels");
	assert_true(json_array_size(panels) >= 8);
	json_array_foreach(panels, i, panel)
	{
		json_t *place = json_object_get(panel, "gridPos");

		assert_true(number_at(place, "x") + number_at(place, "w") <= 24);
		assert_true(json_array_size(json_object_get(panel, "targets")) > 0);
	}
	json_decref(dashboard);
}

/* The first list of arguments that a python expression finds in a file of deploy/, tried: a second
 * of triage into a directory of the test's. */
static void expect_arguments_work(struct harness *harness, const char *find)
{
	char *line = shell(harness, 0,
			   "python3 -c \"import re, yaml; text = open('scripts/deploy/%s "
			   "print(re.sub(r'(--textfile-dir) \\S+ ?(.*) [0-9]+$', "
			   "r'\\1 %s \\2 1 1', ' '.join(a)))\"",
			   find, harness->directory);
	char *text;

	free(shell(harness, 0, "%s %.*s 2>&1", getenv("LEAKMON_PROGRAM") ?: "build/leakmon",
		   (int)strcspn(line, "\n"), line));
	free(line);
	/* A clean end takes the file away. */
	text = shell(harness, 0, "ls %s", harness->directory);
	assert_null(strstr(text, "leakmon.prom"));
	free(text);
}

static void the_daemon_set_runs_a_triage(void **state)
{
	struct harness *harness = harness_any(state);

	expect_arguments_work(harness, "kubernetes/triage/container.yaml').read(); "
				       "pod = yaml.safe_load(text)['spec']['template']['spec']; "
				       "a = pod['containers'][0]['args'];");
}

static void a_daemon_set_runs_a_profile(void **state)
{
	struct harness *harness = harness_bpf(state);

	expect_arguments_work(harness, "kubernetes/profile/container.yaml').read(); "
				       "pod = yaml.safe_load(text)['spec']['template']['spec']; "
				       "a = pod['containers'][0]['args'];");
}

/* Checks overlays and the Helm chart against each other and the Kubernetes API. */
static void manifests_hold_what_they_promise(void **state)
{
	struct harness *harness = harness_any(state);

	free(shell(harness, 0, "tests/kubernetes/test_manifests.py build/kubernetes/render 2>&1"));
}

static void the_unit_runs_a_triage(void **state)
{
	struct harness *harness = harness_any(state);

	expect_arguments_work(harness, "systemd/leakmon.service').read(); "
				       "a = re.search('ExecStart=\\S+ (.*)', text)[1]"
				       ".replace('\\$OPTIONS ', '').split();");
}

/* Rated by systemd-analyze, and started by a separate systemd. */
static void the_unit_starts_under_systemd(void **state)
{
	struct harness *harness = harness_any(state);

	free(shell(harness, 0, "tests/packages/test_unit.py %s 2>&1",
		   getenv("LEAKMON_PROGRAM") ?: "build/leakmon"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(alerts_fire_when_they_should),
		e2e_test(metrics_have_no_fault),
		e2e_test(only_metrics_that_exist_are_asked_for),
		e2e_test(only_rules_that_exist_are_asked_for),
		e2e_test(the_dashboard_is_one_that_grafana_reads),
		e2e_test(the_daemon_set_runs_a_triage),
		e2e_test(a_daemon_set_runs_a_profile),
		e2e_test(manifests_hold_what_they_promise),
		e2e_test(the_unit_runs_a_triage),
		e2e_test(the_unit_starts_under_systemd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
