/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

/* perf's task clock of the calling thread. A forked child has its parent's, under this number. */
static int task_clock(void)
{
	static _Thread_local long of;
	static _Thread_local int clock = -1;
	long tid = syscall(SYS_gettid);

	if (of != tid)
		clock = truth_task_clock();
	of = tid;
	return clock;
}

/* What a hypervisor takes from a CPU is time on it, for fathom and for perf; not in schedstat. */
static int64_t longer(int64_t run_ns, int64_t task_ns)
{
	return run_ns > task_ns ? run_ns : task_ns;
}

void told_counts(struct told *t)
{
	truth_begin_clocked(&t->truth, "stories", t->name, task_clock());
}

void told_counted(struct told *t)
{
	struct truth_passed passed = truth_passed(&t->truth);
	int64_t run_ns = longer(passed.run_ns, passed.task_ns);

	t->run_ns += run_ns;
	t->wait_ns += passed.wait_ns;
	t->blocked_ns += passed.to_ns - t->truth.from_ns - run_ns - passed.wait_ns;
	t->switches += passed.switches;
}

void told_begin(struct told *t, const char *name)
{
	t->name = name;
	told_counts(t);
	t->outer_ns[0] = truth_now();
	t->span = fathom_span_begin(name);
	t->inner_ns[0] = truth_now();
}

void told_stop(struct told *t)
{
	struct fathom_span ended = t->span;

	t->inner_ns[1] = truth_now();
	fathom_span_end(&ended);
	t->outer_ns[1] = truth_now();
	told_counted(t);
}

void told_end(struct told *t)
{
	told_stop(t);
	told_say(t);
}

static void hex_fill(char *out, const uint8_t *bytes, int count)
{
	for (int i = 0; i < count; i++)
		sprintf(out + 2 * (size_t)i, "%02x", bytes[i]);
}

static void pieces_fill(const struct told *t, char *out, size_t size)
{
	size_t n = 0;

	*out = 0;
	for (int i = 0; i < t->pieces_count; i++)
		n += (size_t)snprintf(out + n, size - n, "%s[\"%s\",%lld,%lld]", i ? "," : "",
				      t->pieces[i].part, (long long)t->pieces[i].from_ns,
				      (long long)t->pieces[i].to_ns);
}

void told_say(const struct told *t)
{
	struct truth own = {.task_clock = task_clock()};
	int64_t run_ns = own.task_clock < 0 ? clock_ns(CLOCK_THREAD_CPUTIME_ID)
					    : truth_task_ns(&own);
	char trace[33], span[17], parent[17], pieces[1024];

	hex_fill(trace, t->span.trace_id, 16);
	hex_fill(span, t->span.span_id, 8);
	hex_fill(parent, t->span.parent_id, 8);
	pieces_fill(t, pieces, sizeof(pieces));
	printf("{\"story\":\"%s\",\"name\":\"%s\",\"round\":%d,\"tid\":%ld,\"trace\":\"%s\","
	       "\"span\":\"%s\",\"parent\":\"%s\",\"outer\":[%lld,%lld],\"inner\":[%lld,%lld],"
	       "\"blocked_ns\":%lld,\"wait_ns\":%lld,\"run_ns\":%lld,\"switches\":%ld,"
	       "\"thread\":[%lld,%lld,%ld],\"pieces\":[%s]}\n",
	       t->story, t->name, t->round, syscall(SYS_gettid), trace, span, parent,
	       (long long)t->outer_ns[0], (long long)t->outer_ns[1], (long long)t->inner_ns[0],
	       (long long)t->inner_ns[1], (long long)t->blocked_ns, (long long)t->wait_ns,
	       (long long)t->run_ns, t->switches, (long long)truth_now(), (long long)run_ns,
	       truth_switches(), pieces);
}

void told_piece(struct told *t, const char *part, int64_t from_ns, int64_t to_ns)
{
	if (to_ns <= from_ns)
		return;
	if (t->pieces_count == (int)(sizeof(t->pieces) / sizeof(t->pieces[0])))
		exit(2);
	t->pieces[t->pieces_count++] = (struct piece){part, from_ns, to_ns};
}

void told_pieces(struct told *t, const struct told *child)
{
	for (int i = 0; i < child->pieces_count; i++)
		told_piece(t, child->pieces[i].part, child->pieces[i].from_ns,
			   child->pieces[i].to_ns);
}
