/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up changes that nobody could be told of, and forgets them after a day. */
#include <stdio.h>

#include "monitor/internal.h"

#define SHOWN_NS UINT64_C(86400000000000)

void monitors_forget(struct monitors *m, uint64_t now_ns)
{
	size_t failed = 0, kept = 0;

	for (size_t i = 0; i < m->kept.tellings.count; i++)
		failed += m->kept.tellings.data[i].is_failed;
	for (size_t i = 0; i < m->kept.tellings.count; i++) {
		struct telling *t = &m->kept.tellings.data[i];
		bool is_old = t->is_failed &&
			      (failed > TELLINGS_FAILED_MAX || t->at_ns + SHOWN_NS < now_ns);

		if (is_old) {
			telling_free(t);
			failed--;
		} else {
			m->kept.tellings.data[kept++] = *t;
		}
	}
	m->kept.tellings.count = kept;
}

void monitors_give_up(struct monitors *m, struct telling *t, const char *why)
{
	char text[512];

	snprintf(t->why, sizeof(t->why), "%s", why);
	t->is_failed = true;
	t->is_begun = false;
	m->kept.failed++;
	snprintf(text, sizeof(text), "monitor '%s': '%s' was not told that it is %s: %s",
		 t->monitor, t->action, monitor_state_name(t->state), t->why);
	if (m->options.warn)
		m->options.warn(text);
}
