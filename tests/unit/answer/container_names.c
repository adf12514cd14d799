/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers, from files as engines write them. */
#include "answer/container_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define WEB "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DB "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PODMAN "3123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "4123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char root[] = "/tmp/fathom-container-names-XXXXXX";

/* Writes a file below the root, with its folders. */
static void put(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = strchr(full + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		CHECK(mkdir(full, 0755) == 0 || errno == EEXIST);
		*at = '/';
	}
	file = fopen(full, "w");
	CHECK(file != NULL);
	fputs(text, file);
	fclose(file);
}

static void root_remove(void)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK_EQ(system(command), 0);
}

TEST(engines)
{
	struct container_names names = {.root = root};

	CHECK(mkdtemp(root) != NULL);
	put("/var/lib/docker/containers/" WEB "/config.v2.json",
	    "{\"State\":{\"Name\":\"no\"},\"ID\":\"" WEB "\",\"Name\":\"/web\",\"Config\":{}}");
	put("/run/containerd/io.containerd.runtime.v2.task/default/" DB "/config.json",
	    "{\"ociVersion\":\"1\",\"annotations\":{\"nerdctl/name\":\"d\\u0062\"}}");
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" POD "/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
	    "\"io.kubernetes.cri.sandbox-name\":\"shop-7d9\"}}");
	put("/var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" PODMAN "\",\"names\":[\"cache\",\"alias\"],\"layer\":\"x\"},{\"id\":1}]");
	CHECK_STR(container_name(&names, WEB), "web");
	CHECK_STR(container_name(&names, DB), "db");
	CHECK_STR(container_name(&names, POD), "shop-7d9/app");
	CHECK_STR(container_name(&names, PODMAN), "cache");
	CHECK_STR(container_name(&names, WEB), "web"); /* it is known by now */
	CHECK(!container_name(&names, OTHER));
	CHECK(!container_name(&names, OTHER));
	CHECK(!container_name(&names, "../../etc"));
	container_names_free(&names);
	root_remove();
}

TEST(damaged_files)
{
	struct container_names names = {.root = root};

	strcpy(root + strlen(root) - 6, "XXXXXX");
	CHECK(mkdtemp(root) != NULL);
	put("/var/lib/docker/containers/" WEB "/config.v2.json", "{\"Name\":\"/web\"");
	put("/var/lib/docker/containers/" DB "/config.v2.json", "[]");
	put("/var/lib/containers/storage/overlay-containers/containers.json", "{}");
	CHECK(!container_name(&names, WEB));
	CHECK(!container_name(&names, DB));
	container_names_free(&names);
	root_remove();
}

TEST_MAIN()
