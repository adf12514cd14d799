/* SPDX-License-Identifier: Apache-2.0 */
#include "store/duckdb.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beside.h"

#define LIBRARY "libduckdb.so"

static void *beside_program_open(const char *folder)
{
	char path[PATH_MAX + sizeof(LIBRARY)];

	snprintf(path, sizeof(path), "%s/" LIBRARY, folder);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int library_open(struct duckdb *api, const char *path, struct error *e)
{
	const char *named = path ? path : getenv("FATHOM_DUCKDB");
	char folder[PATH_MAX] = "";

	if (named && *named) {
		api->library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		return api->library ? 0
				    : error_say(e, ELIBACC, "cannot open DuckDB: %s", dlerror());
	}
	if (beside_program("lib/fathom", folder))
		api->library = beside_program_open(folder);
	if (!api->library)
		api->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!api->library)
		return error_say(e, ELIBACC,
				 "DuckDB, in which spans are stored, is missing: fetch " LIBRARY
				 " 1.5 with 'tools/fetch-duckdb %s'",
				 *folder ? folder : "/usr/local/lib/fathom");
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
