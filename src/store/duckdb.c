/* SPDX-License-Identifier: Apache-2.0 */
#include "store/duckdb.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libduckdb.so"

/* DIR/../lib/fathom/libduckdb.so for a program DIR/fathom. */
static void *beside_program_open(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;
	size_t left;

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	left = sizeof(path) - (size_t)(slash - path);
	if (snprintf(slash, left, "/../lib/fathom/" LIBRARY) >= (int)left)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int library_open(struct duckdb *api, const char *path, struct error *e)
{
	const char *named = path ? path : getenv("FATHOM_DUCKDB");

	if (named && *named) {
		api->library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		return api->library ? 0 : error_say(e, ENOENT, "cannot open DuckDB: %s", dlerror());
	}
	api->library = beside_program_open();
	if (!api->library)
		api->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!api->library)
		return error_say(e, ENOENT,
				 "cannot open DuckDB, in which spans are stored: put " LIBRARY
				 " 1.5 into ../lib/fathom beside the program's folder, as "
				 "tools/fetch-duckdb does");
	return 0;
}

/* "v1.5.6" and the like. A version of another form is that of a build by hand. */
static bool version_is_enough(const char *version)
{
	int major, minor;

	if (sscanf(version, "v%d.%d", &major, &minor) != 2)
		return true;
	return major > 1 || (major == 1 && minor >= 5);
}

int duckdb_load(struct duckdb *api, const char *path, struct error *e)
{
	const char *missing = NULL;
	int err;

	memset(api, 0, sizeof(*api));
	err = library_open(api, path, e);
	if (err)
		return err;
#define F(type, name, arguments)                                                                   \
	*(void **)&api->name = dlsym(api->library, "duckdb_" #name);                               \
	missing = api->name ? missing : #name;
	DUCKDB_FUNCTIONS(F)
#undef F
	if (!missing && version_is_enough(api->library_version()))
		return 0;
	if (!missing) {
		error_say(e, ENOSYS, "cannot use DuckDB %s: 1.5 or a newer one is needed",
			  api->library_version());
		duckdb_unload(api);
		return -ENOSYS;
	}
	duckdb_unload(api);
	return error_say(e, ENOSYS, "cannot use DuckDB: it has no function duckdb_%s", missing);
}

void duckdb_unload(struct duckdb *api)
{
	if (api->library)
		dlclose(api->library);
	api->library = NULL;
}
