// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of runtimes and the kubelet on a machine, and hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/container_names.h"
#include "process/proc/container_states.h"

#define ID "3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789"
#define UID "0aa1b2c3-d4e5-4f60-8123-456789abcdef"

static void names_free(struct container *container)
{
	free(container->namespace);
	free(container->pod);
	free(container->name);
	container->namespace = container->pod = container->name = NULL;
}

static int read_config(const char *text, bool trusted, struct container *container)
{
	return oci_read_config(text, strlen(text), trusted, container);
}

static void containerd_annotations_name_everything(void **state)
{
	struct container container = {.id = ID};

	(void)state;
	assert_int_equal(
		read_config("{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"web-0\","
			    "\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
			    "\"io.kubernetes.cri.container-name\":\"nginx\","
			    "\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"}}",
			    true, &container),
		0);
	assert_string_equal(container.pod, "web-0");
	assert_string_equal(container.namespace, "shop");
	assert_string_equal(container.name, "nginx");
	assert_string_equal(container.pod_uid, UID);
	names_free(&container);
}

static void crio_annotations_name_everything(void **state)
{
	struct container container = {.id = ID};

	(void)state;
	assert_int_equal(read_config("{\"annotations\":{\"io.kubernetes.pod.name\":\"web-0\","
				     "\"io.kubernetes.pod.namespace\":\"shop\","
				     "\"io.kubernetes.container.name\":\"nginx\","
				     "\"io.kubernetes.pod.uid\":\"" UID "\"}}",
				     true, &container),
			 0);
	assert_string_equal(container.pod, "web-0");
	assert_string_equal(container.namespace, "shop");
	assert_string_equal(container.name, "nginx");
	assert_string_equal(container.pod_uid, UID);
	names_free(&container);
}

static void a_config_that_may_be_of_another_must_name_the_cgroup(void **state)
{
	static const char other[] =
		"{\"annotations\":{\"io.kubernetes.pod.name\":\"evil\"},\"linux\":{\"cgroupsPath\":"
		"\"/kubepods/x\"}}";
	static const char ours[] = "{\"annotations\":{\"io.kubernetes.pod.name\":\"web-0\"},"
				   "\"linux\":{\"cgroupsPath\":"
				   "\"kubepods-x.slice:cri-containerd:" ID "\"}}";
	struct container container = {.id = ID};

	(void)state;
	assert_int_equal(read_config(other, false, &container), -ENOENT);
	assert_int_equal(read_config("{}", false, &container), -ENOENT);
	assert_null(container.pod);
	assert_int_equal(read_config(ours, false, &container), 0);
	assert_string_equal(container.pod, "web-0");
	names_free(&container);
}

static void what_is_no_such_object_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"1",
		"{",
		"{\"annotations\":",
		"\"a\"",
		"{\"annotations\":{\"a\":\"\xff\"}}",
	};
	static const char *const empty[] = {
		"{}",
		"{\"annotations\":[1,2]}",
		"{\"annotations\":{\"io.kubernetes.pod.name\":[\"x\"]}}",
		"{\"annotations\":{\"io.kubernetes.pod.name\":\"\"}}",
		"{\"annotations\":{\"io.kubernetes.pod.uid\":\"" UID UID "\"}}",
	};
	struct container container = {.id = ID};
	char *bundle = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(read_config(texts[i], true, &container), -EINVAL);
		assert_int_equal(oci_read_state(texts[i], strlen(texts[i]), &container, &bundle),
				 -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
		assert_int_equal(read_config(empty[i], true, &container), 0);
	assert_null(container.pod);
	assert_null(bundle);
	assert_string_equal(container.pod_uid, "");
}

static void a_name_longer_than_dns_allows_is_not_taken(void **state)
{
	struct container container = {.id = ID};
	char text[512], name[255];

	(void)state;
	memset(name, 'a', 254);
	name[254] = '\0';
	snprintf(text, sizeof(text), "{\"annotations\":{\"io.kubernetes.pod.name\":\"%s\"}}", name);
	assert_int_equal(read_config(text, true, &container), 0);
	assert_null(container.pod);
	name[253] = '\0';
	snprintf(text, sizeof(text), "{\"annotations\":{\"io.kubernetes.pod.name\":\"%s\"}}", name);
	assert_int_equal(read_config(text, true, &container), 0);
	assert_string_equal(container.pod, name);
	names_free(&container);
}

static void the_state_of_runc_names_pod_and_bundle(void **state)
{
	static const char text[] =
		"{\"id\":\"x\",\"config\":{\"labels\":[\"io.kubernetes.cri.sandbox-name=web-0\",7,"
		"\"none\",\"io.kubernetes.cri.container-name=a=b\",\"bundle=/run/b\"]}}";
	struct container container = {.id = ID};
	_cleanup_free_ char *bundle = NULL;

	(void)state;
	assert_int_equal(oci_read_state(text, strlen(text), &container, &bundle), 0);
	assert_string_equal(bundle, "/run/b");
	assert_string_equal(container.pod, "web-0");
	assert_string_equal(container.name, "a=b");
	names_free(&container);
}

static void the_status_of_crun_names_the_bundle(void **state)
{
	static const char text[] = "{\"pid\":1,\"bundle\":\"/run/b\"}";
	struct container container = {.id = ID};
	_cleanup_free_ char *bundle = NULL;

	(void)state;
	assert_int_equal(oci_read_state(text, strlen(text), &container, &bundle), 0);
	assert_string_equal(bundle, "/run/b");
	assert_null(container.pod);
}

/* In the form of dockerd 20.10 to 27, shortened where nothing is read. */
#define DOCKER_CONFIG(id, labels, name)                                                            \
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Paused\":false,\"Restarting\":false,"  \
	"\"OOMKilled\":false,\"RemovalInProgress\":false,\"Dead\":false,\"Pid\":2211,"             \
	"\"ExitCode\":0,"                                                                          \
	"\"Error\":\"\",\"StartedAt\":\"2026-11-02T08:11:09.613Z\",\"FinishedAt\":"                \
	"\"0001-01-01T00:00:00Z\",\"Health\":null},\"ID\":\"" id "\",\"Created\":"                 \
	"\"2026-11-02T08:11:09.1Z\",\"Managed\":false,\"Path\":\"/"                                \
	"docker-entrypoint.sh\",\"Args\":"                                                         \
	"[\"nginx\",\"-g\",\"daemon off;\"],\"Config\":{\"Hostname\":\"web\",\"Domainname\":\"\"," \
	"\"User\":\"\",\"ExposedPorts\":{\"80/tcp\":{}},\"Tty\":false,\"Env\":[\"PATH=/"           \
	"bin\"],\"Cmd\":"                                                                          \
	"null,\"Image\":\"nginx\",\"Volumes\":null,\"WorkingDir\":\"\",\"OnBuild\":null,"          \
	"\"Labels\":" labels "},\"Image\":\"sha256:1ff6\",\"NetworkSettings\":{\"Bridge\":\"\","   \
	"\"Networks\":{\"bridge\":{\"IPAMConfig\":null}}},\"LogPath\":\"/var/lib/docker/"          \
	"x-json.log\","                                                                            \
	"\"Name\":" name ",\"Driver\":\"overlay2\",\"OS\":\"linux\",\"RestartCount\":0,"           \
	"\"MountPoints\":{},\"SecretReferences\":null,\"AppArmorProfile\":\"docker-default\","     \
	"\"SeccompProfile\":\"\",\"NoNewPrivileges\":false,\"LocalLogCacheMeta\":{}}"

static int read_docker(const char *text, struct container *container)
{
	return docker_read_config(text, strlen(text), container);
}

static void a_container_of_docker_alone_has_a_name_and_no_pod(void **state)
{
	struct container container = {.id = ID};

	(void)state;
	assert_int_equal(read_docker(DOCKER_CONFIG(ID, "{\"maintainer\":\"NGINX\"}", "\"/web\""),
				     &container),
			 0);
	assert_string_equal(container.name, "web");
	assert_null(container.pod);
	assert_null(container.namespace);
	names_free(&container);
}

static void a_container_of_the_kubelet_upon_docker_has_the_names_of_its_labels(void **state)
{
	struct container container = {.id = ID};

	(void)state;
	assert_int_equal(
		read_docker(DOCKER_CONFIG(ID,
					  "{\"annotation.io.kubernetes.container.hash\":\"5a7\","
					  "\"io.kubernetes.container.logpath\":\"/var/log/x\","
					  "\"io.kubernetes.container.name\":\"nginx\","
					  "\"io.kubernetes.docker.type\":\"container\","
					  "\"io.kubernetes.pod.name\":\"web-0\","
					  "\"io.kubernetes.pod.namespace\":\"shop\","
					  "\"io.kubernetes.pod.uid\":\"" UID "\"}",
					  "\"/k8s_nginx_web-0_shop_" UID "_0\""),
			    &container),
		0);
	assert_string_equal(container.name, "nginx");
	assert_string_equal(container.pod, "web-0");
	assert_string_equal(container.namespace, "shop");
	assert_string_equal(container.pod_uid, UID);
	names_free(&container);
}

static void a_record_of_another_container_or_of_none_is_not_taken(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{DOCKER_CONFIG("1" ID, "{}", "\"/web\""), -ENOENT},
		{DOCKER_CONFIG("", "{}", "\"/web\""), -ENOENT},
		{"{\"ID\":[],\"Name\":\"/web\"}", -ENOENT},
		{"{}", -ENOENT},
		{"[]", -EINVAL},
		{"{\"ID\":", -EINVAL},
		{DOCKER_CONFIG(ID, "null", "null"), 0},
		{DOCKER_CONFIG(ID, "[\"a=b\"]", "{\"a\":1}"), 0},
		{DOCKER_CONFIG(ID, "{\"io.kubernetes.pod.name\":7}", "\"/\""), 0},
	};
	struct container container = {.id = ID};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_docker(cases[i].text, &container), cases[i].error);
		assert_null(container.name);
		assert_null(container.pod);
	}
}

/* In the form of dockerd 20.10 with --data-root, shortened. */
#define DOCKER_BUNDLE(source)                                                                      \
	"{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"/srv/d/vfs/dir/9972\"},\"mounts\":["       \
	"{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},{\"destination\":"      \
	"\"/etc/hostname\",\"type\":\"bind\",\"source\":" source "}],\"linux\":{\"cgroupsPath\":"  \
	"\"/docker/" ID "\"}}"

static void the_mounts_of_a_bundle_of_dockers_show_where_its_record_is(void **state)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{DOCKER_BUNDLE("\"/srv/d/containers/" ID "/hostname\""),
		 "/srv/d/containers/" ID "/config.v2.json"},
		{DOCKER_BUNDLE("\"/containers/" ID "/hostname\""), NULL},
		{DOCKER_BUNDLE("\"d/containers/" ID "/hostname\""), NULL},
		{DOCKER_BUNDLE("\"/srv/d/containers/1" ID "/hostname\""), NULL},
		{DOCKER_BUNDLE("\"/srv/d/containers/" ID "/hostname2\""), NULL},
		{DOCKER_BUNDLE("[]"), NULL},
		{"{\"mounts\":{}}", NULL},
		{"[]", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		_cleanup_free_ char *path = docker_find_config(text, strlen(text), ID);

		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
}

/* In the form of podman 4.3. */
static void podmans_list_names_a_container_by_its_id(void **state)
{
	static const char list[] =
		"[{\"id\":\"7e635cae8b85502727a572ca2f04570c28ecaaa79bf5f90dddd1f94c6ba3ed77\","
		"\"names\":[\"other\"],\"image\":\"\",\"layer\":\"82d4\"},7,{\"id\":\"" ID "\","
		"\"names\":[\"web\",\"alias\"],\"image\":\"\",\"layer\":\"82d4318ec75c\","
		"\"metadata\":\"{\\\"image-name\\\":\\\"\\\",\\\"name\\\":\\\"web\\\"}\","
		"\"created\":\"2026-11-21T08:53:37.285165499Z\",\"flags\":{\"Volatile\":true}}]";
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{"[]", -ENOENT},
		{"{}", -EINVAL},
		{"[{\"id\":", -EINVAL},
		{"[{\"id\":7,\"names\":[\"x\"]}]", -ENOENT},
		{"[{\"id\":\"" ID "\"}]", 0},
		{"[{\"id\":\"" ID "\",\"names\":[]}]", 0},
		{"[{\"id\":\"" ID "\",\"names\":[{}]}]", 0},
	};
	struct container container = {.id = ID};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(
			storage_read_containers(cases[i].text, strlen(cases[i].text), &container),
			cases[i].error);
		assert_null(container.name);
	}
	assert_int_equal(storage_read_containers(list, strlen(list), &container), 0);
	assert_string_equal(container.name, "web");
	names_free(&container);
}

static void a_log_link_names_everything_by_id(void **state)
{
	struct container container = {.id = ID};

	(void)state;
	assert_false(container_logs_take_link("web-0_shop_nginx-0.log", &container));
	assert_false(container_logs_take_link("-" ID ".log", &container));
	assert_false(container_logs_take_link("web-0_shop-" ID ".log", &container));
	assert_null(container.pod);
	assert_true(container_logs_take_link("web-0_shop_ng-inx-" ID ".log", &container));
	assert_string_equal(container.pod, "web-0");
	assert_string_equal(container.namespace, "shop");
	assert_string_equal(container.name, "ng-inx");
	names_free(&container);
}

static void a_log_directory_names_the_pod_by_uid(void **state)
{
	struct container container = {.id = ID}, podless = {.id = ID};

	(void)state;
	snprintf(container.pod_uid, sizeof(container.pod_uid), "%s", UID);
	assert_false(container_logs_take_pod("shop_web-0_" UID, &podless));
	assert_false(container_logs_take_pod("shop_web-0_1" UID, &container));
	assert_false(container_logs_take_pod("web-0_" UID, &container));
	assert_true(container_logs_take_pod("shop_web-0_" UID, &container));
	assert_string_equal(container.namespace, "shop");
	assert_string_equal(container.pod, "web-0");
	names_free(&container);
}

static void take(void *context, const char *group, bool mounted)
{
	char *text = context;

	snprintf(text + strlen(text), 256 - strlen(text), "%s%s;", mounted ? "mounted " : "",
		 group);
}

static void a_runtimes_state_names_the_cgroups(void **state)
{
	static const struct {
		const char *text, *groups;
		int error;
	} cases[] = {
		{"{\"id\":\"web\",\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/web\",\"pids\":1}}",
		 "mounted /sys/fs/cgroup/web;", 0},
		{"{\"pid\":1,\"cgroup-path\":\"/crun-web.scope\"}", "/crun-web.scope;", 0},
		{"{\"cgroup_paths\":[\"/\"],\"cgroup-path\":{}}", "", 0},
		{"[]", "", -EINVAL},
		{"{\"cgroup_paths\":{", "", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char groups[256] = "";

		assert_int_equal(
			container_state_read(cases[i].text, strlen(cases[i].text), take, groups),
			cases[i].error);
		assert_string_equal(groups, cases[i].groups);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runtimes_state_names_the_cgroups),
		cmocka_unit_test(containerd_annotations_name_everything),
		cmocka_unit_test(crio_annotations_name_everything),
		cmocka_unit_test(a_config_that_may_be_of_another_must_name_the_cgroup),
		cmocka_unit_test(what_is_no_such_object_changes_nothing),
		cmocka_unit_test(a_name_longer_than_dns_allows_is_not_taken),
		cmocka_unit_test(the_state_of_runc_names_pod_and_bundle),
		cmocka_unit_test(the_status_of_crun_names_the_bundle),
		cmocka_unit_test(a_container_of_docker_alone_has_a_name_and_no_pod),
		cmocka_unit_test(
			a_container_of_the_kubelet_upon_docker_has_the_names_of_its_labels),
		cmocka_unit_test(a_record_of_another_container_or_of_none_is_not_taken),
		cmocka_unit_test(the_mounts_of_a_bundle_of_dockers_show_where_its_record_is),
		cmocka_unit_test(podmans_list_names_a_container_by_its_id),
		cmocka_unit_test(a_log_link_names_everything_by_id),
		cmocka_unit_test(a_log_directory_names_the_pod_by_uid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
