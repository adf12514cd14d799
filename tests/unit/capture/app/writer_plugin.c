/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin for writer.c. It is linked with the archive, so it has a libfathom of its own. */
#include <fathom/fathom.h>

void plugin_spans(long n);
int plugin_listening(void);

__attribute__((visibility("default"))) void plugin_spans(long n)
{
	for (long i = 0; i < n; i++) {
		struct fathom_span s = fathom_span_begin("plugin");

		fathom_span_end(&s);
	}
}

__attribute__((visibility("default"))) int plugin_listening(void)
{
	return fathom_listening();
}
