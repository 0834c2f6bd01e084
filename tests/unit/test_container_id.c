// SPDX-License-Identifier: GPL-2.0-or-later
/* The forms of cgroup paths that runtimes, drivers and kernels write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/container.h"

#define ID "3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789"
#define OTHER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define UID "0aa1b2c3-d4e5-4f60-8123-456789abcdef"
#define UID_ "0aa1b2c3_d4e5_4f60_8123_456789abcdef"
#define STATIC_UID "9c1f0a7be33d4d1c8f7e6a5b4c3d2e1f"

struct form {
	const char *what, *path, *id, *uid; /* id NULL: no container */
};

static const struct form forms[] = {
	/* cgroupfs driver */
	{"kubelet, best effort", "/kubepods/besteffort/pod" UID "/" ID, ID, UID},
	{"kubelet, burstable", "/kubepods/burstable/pod" UID "/" ID, ID, UID},
	{"kubelet, guaranteed", "/kubepods/pod" UID "/" ID, ID, UID},
	{"static pod", "/kubepods/burstable/pod" STATIC_UID "/" ID, ID, STATIC_UID},
	{"CRI-O under cgroupfs", "/kubepods/pod" UID "/crio-" ID, ID, UID},
	{"Docker", "/docker/" ID, ID, ""},
	{"a group inside the container", "/kubepods/pod" UID "/" ID "/system.slice/a.service", ID,
	 UID},
	/* systemd driver */
	{"containerd",
	 "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 ID, UID},
	{"containerd, guaranteed",
	 "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", ID, UID},
	{"kind: below the kubelet's slice",
	 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	 "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 ID, UID},
	{"CRI-O", "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", ID, UID},
	{"CRI-O with a group inside",
	 "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", ID, UID},
	{"cri-dockerd", "/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", ID, UID},
	{"static pod", "/kubepods.slice/kubepods-pod" STATIC_UID ".slice/crio-" ID ".scope", ID,
	 STATIC_UID},
	{"Docker", "/system.slice/docker-" ID ".scope", ID, ""},
	{"Docker with systemd inside", "/system.slice/docker-" ID ".scope/init", ID, ""},
	{"Podman", "/machine.slice/libpod-" ID ".scope/container", ID, ""},
	{"rootless Podman",
	 "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID, ""},
	/* v1 */
	{"containerd, v1",
	 "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	 ".slice:cri-containerd:" ID,
	 ID, UID},
	{"containerd, v1, at the root", "/kubepods-pod" UID_ ".slice:cri-containerd:" ID, ID, UID},
	{"Docker, v1", "/system.slice:docker:" ID, ID, ""},
	/* from a private cgroup namespace */
	{"a neighbour's container", "/../../pod" UID "/" ID, ID, UID},
	{"the same, systemd", "/../../kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", ID,
	 UID},
	{"a neighbour in our pod", "/../cri-containerd-" ID ".scope", ID, ""},
	{"ourselves", "/", NULL, NULL},
	/* nested: the innermost counts */
	{"Docker in a pod", "/kubepods/pod" UID "/" OTHER "/docker/" ID, ID, UID},
	{"kind: a pod in Docker", "/docker/" OTHER "/kubelet/kubepods/besteffort/pod" UID "/" ID,
	 ID, UID},
	/* no container */
	{"a service", "/system.slice/nginx.service", NULL, NULL},
	{"a session", "/user.slice/user-0.slice/session-1.scope", NULL, NULL},
	{"the pod's own group", "/kubepods/besteffort/pod" UID, NULL, NULL},
	{"CRI-O's monitor", "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope",
	 NULL, NULL},
	{"CRI-O's monitor, cgroupfs", "/kubepods/pod" UID "/crio-conmon-" ID, NULL, NULL},
	{"Podman's monitor", "/machine.slice/libpod-conmon-" ID ".scope", NULL, NULL},
	{"a unit of the container's", "/system.slice/docker-" ID ".service", NULL, NULL},
	/* hostile, or nearly right */
	{"63 digits",
	 "/docker/"
	 "f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789",
	 NULL, NULL},
	{"65 digits", "/docker/0" ID, NULL, NULL},
	{"128 digits", "/docker/" ID ID, NULL, NULL},
	{"a word that ends in 64 digits", "/docker/x" ID, NULL, NULL},
	{"capital digits",
	 "/docker/3F2A91C0B7D54E6688AA0011223344556677889900AABBCCDDEEFF0123456789", NULL, NULL},
	{"digits behind the scope", "/docker-" ID ".scope.d", NULL, NULL},
	{"only .scope", "/.scope", NULL, NULL},
	{"a UID with a digit too many", "/kubepods/pod0" UID "/" ID, ID, ""},
	{"a UID with a digit too few", "/kubepods/pod0aa1b2c3-d4e5-4f60-8123-456789abcde/" ID, ID,
	 ""},
	{"a UID with mixed dashes", "/kubepods/pod0aa1b2c3-d4e5_4f60-8123-456789abcdef/" ID, ID,
	 ""},
	{"a UID within a word", "/kubepods/tripod" UID "/" ID, ID, ""},
	{"a UID behind the id", "/docker/" ID "/pod" UID, ID, ""},
	{"newlines and escapes", "/\n0::/\033[31m/docker-" ID ".scope", ID, ""},
	{"slashes", "//////", NULL, NULL},
	{"a trailing slash", "/docker/" ID "/", ID, ""},
	{"nothing", "", NULL, NULL},
	{"no slash", ID, ID, ""},
};

static void check(const struct form *form)
{
	struct container_id id = {.id = "untouched"};
	bool found = container_id_from_path(form->path, &id);

	if (found != (form->id != NULL))
		fail_msg("%s: %s", form->what, found ? "took it for a container" : "not found");
	if (!found) {
		assert_string_equal(id.id, "untouched");
		return;
	}
	if (strcmp(id.id, form->id) != 0 || strcmp(id.pod_uid, form->uid) != 0)
		fail_msg("%s: id %s, pod %s", form->what, id.id, id.pod_uid);
}

static void every_form_of_path_gives_its_container_and_pod(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		check(&forms[i]);
}

static void a_path_of_4096_bytes_is_read_to_its_end(void **state)
{
	char path[4096 + 1];
	struct container_id id;

	(void)state;
	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 200)
		path[i] = '/';
	memcpy(path + 4096 - strlen("/docker/" ID), "/docker/" ID, strlen("/docker/" ID));
	path[4096] = '\0';
	assert_true(container_id_from_path(path, &id));
	assert_string_equal(id.id, ID);
	assert_string_equal(id.pod_uid, "");
	/* All digits, no slash, no id. */
	memset(path, 'a', 4096);
	assert_false(container_id_from_path(path, &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_path_gives_its_container_and_pod),
		cmocka_unit_test(a_path_of_4096_bytes_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
