/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/curl.h"

#include <dlfcn.h>

static struct curl curl;

static const struct {
	const char *name;
	void **function;
} functions[] = {{"curl_global_init", (void **)&curl.global_init},
		 {"curl_easy_init", (void **)&curl.easy_init},
		 {"curl_easy_setopt", (void **)&curl.easy_setopt},
		 {"curl_easy_perform", (void **)&curl.easy_perform},
		 {"curl_easy_getinfo", (void **)&curl.easy_getinfo},
		 {"curl_easy_cleanup", (void **)&curl.easy_cleanup},
		 {"curl_easy_strerror", (void **)&curl.easy_strerror},
		 {"curl_slist_append", (void **)&curl.slist_append},
		 {"curl_slist_free_all", (void **)&curl.slist_free_all}};

const struct curl *curl_open(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;

	if (curl.library)
		return &curl;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return NULL;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		*functions[i].function = dlsym(library, functions[i].name);
		if (!*functions[i].function) {
			dlclose(library);
			return NULL;
		}
	}
	if (curl.global_init(CURL_GLOBAL_ALL)) {
		dlclose(library);
		return NULL;
	}
	curl.library = library; /* stays: other threads may be in it when a process ends */
	return &curl;
}
