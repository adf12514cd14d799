/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with a libfathom of its own. */
#include <fathom/fathom.h>
#include <stdbool.h>
#include <time.h>

void plugin_work(const char *name);
bool plugin_listening(void);

__attribute__((visibility("default"))) bool plugin_listening(void)
{
	return fathom_listening();
}

__attribute__((visibility("default"))) void plugin_work(const char *name)
{
	struct fathom_span work = fathom_span_begin(name);
	struct fathom_span nap = fathom_span_begin("nap");

	fathom_span_string(&work, "of", "plugin");
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	fathom_span_end(&nap);
	fathom_span_end(&work);
}
