/* SPDX-License-Identifier: Apache-2.0 */
#include "model/container.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define ONE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TWO "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static const struct {
	const char *path, *id;
} cases[] = {
	{"/docker/" ONE, ONE},
	{"/system.slice/docker-" ONE ".scope", ONE},
	{"/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-" ONE ".scope", ONE},
	{"/kubepods.slice/crio-" ONE ".scope/container", ONE},
	{"/machine.slice/libpod-" ONE ".scope/container", ONE},
	{"/system.slice/containerd.service/kubepods-pod3.slice:cri-containerd:" ONE, ONE},
	{"/kubepods/burstable/pod0f/" ONE, ONE},
	{"/docker/" ONE "/system.slice/nginx.service", ONE},
	{"/docker/" ONE "/kubelet/kubepods/" TWO, TWO},
	{ONE, ONE},
	{"/machine.slice/libpod-conmon-" ONE ".scope", NULL},
	{"/system.slice/docker.service", NULL},
	{"/user.slice/user-1000.slice/session-3.scope", NULL},
	{"/docker/0" ONE, NULL},
	{"/docker/" ONE "0", NULL},
	{"/docker/" ONE "x", NULL},
	{"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
	{"/docker/123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
	{"/.scope", NULL},
	{"/", NULL},
	{"", NULL},
};

TEST(container_of_a_path)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t bytes = strlen(cases[i].path);
		char id[CONTAINER_ID_BYTES] = "untouched", *path = malloc(bytes + 1);
		bool found;

		CHECK(path);
		memcpy(path, cases[i].path, bytes); /* no NUL behind it */
		found = container_id_find(path, bytes, id);
		CHECK_EQ(found, cases[i].id != NULL);
		CHECK_STR(id, found ? cases[i].id : "untouched");
		free(path);
	}
}

TEST_MAIN()
