// SPDX-License-Identifier: Apache-2.0
/*
 * A pause. The programs stay attached and look at a flag, so nobody needs privileges to go on. They
 * still tell of the life of threads and processes: scope, contexts and rings of applications are
 * followed as before. All that is told in a pause is dropped.
 */
#include "bpf/recording.h"
#include "capture/internal.h"
#include "capture/scope/scope.h"
#include "programs.skel.h"

static int nothing_recorded(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	(void)arg;
	(void)s;
	(void)r;
	return 0;
}

static int nothing_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	(void)arg;
	(void)s;
	(void)lost;
	return 0;
}

struct capture_sink capture_nowhere(void)
{
	return (struct capture_sink){.record = nothing_recorded, .lost = nothing_lost};
}

void capture_pause(struct capture *c)
{
	__atomic_store_n(&c->programs->bss->recording, RECORDING_LIVES, __ATOMIC_SEQ_CST);
}

int capture_resume(struct capture *c, u64 *begin_ns, struct error *e)
{
	const struct capture_sink nowhere = capture_nowhere();
	int err = capture_scope_iterate(c, c->programs->progs.pause_forget);

	if (!err) /* what was told in the pause, once per chunk, is told anew */
		err = capture_cut(c, &nowhere, begin_ns);
	if (err < 0)
		return error_set(e, err, "cannot go on to record");
	if (capture_detail(c) != CAPTURE_DETAIL_WAITS) /* it was raised in the pause */
		capture_calls_anew(c);
	c->programs->bss->recording_ns = *begin_ns;
	__atomic_store_n(&c->programs->bss->recording, RECORDING_ALL, __ATOMIC_RELEASE);
	return 0;
}
