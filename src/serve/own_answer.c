/* SPDX-License-Identifier: Apache-2.0 */
/* What all answers of fathom's own query API need. */
#include <errno.h>
#include <time.h>

#include "base/units.h"
#include "serve/answer.h"
#include "serve/own.h"
#include "serve/parameters.h"

int own_error(struct query *q, int status, const char *why)
{
	return own_error_write(q->body, why) ? -ENOMEM : status;
}

uint64_t own_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool own_moment(const char *text, uint64_t now_ns, uint64_t *ns)
{
	uint64_t before;

	if (!text)
		return true;
	if (units_parse_duration(text, &before) == 0) {
		*ns = before < now_ns ? now_ns - before : 0;
		return true;
	}
	return number_parse(text, UINT64_MAX, ns);
}

bool own_range(struct query *q, uint64_t *from_ns, uint64_t *to_ns)
{
	uint64_t now_ns = own_now_ns();

	return own_moment(query_value(q, "from"), now_ns, from_ns) &&
	       own_moment(query_value(q, "to"), now_ns, to_ns);
}
