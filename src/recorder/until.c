/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/until.h"

static int until_record(void *arg, const struct capture_stream *s, const struct record_head *record)
{
	const struct until *until = arg;

	return record->time_ns > until->end_ns ? 0 : until->to.record(until->to.arg, s, record);
}

static int until_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	const struct until *until = arg;

	return lost->head.time_ns > until->end_ns ? 0 : until->to.lost(until->to.arg, s, lost);
}

struct capture_sink until_sink(struct until *until)
{
	return (struct capture_sink){.arg = until, .record = until_record, .lost = until_lost};
}
