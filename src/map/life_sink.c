/* SPDX-License-Identifier: Apache-2.0 */
/* Puts what lives settle into the sums and lists of the partial. */
#include "map/life_sink.h"

#include "map/kernel/call_sums.h"
#include "map/kernel/kspan_filter.h"
#include "model/syscall_format.h"

static void wait_keep(struct partial *p, const struct life *l, const struct life_wait *w)
{
	struct kspan k = {.kind = KSPAN_WAIT,
			  .begin_ns = w->begin_ns,
			  .end_ns = w->end_ns,
			  .tid = l->tid,
			  .pid = l->pid,
			  .part = w->part,
			  .open = w->unsure,
			  .work = w->work,
			  .state = w->state,
			  .mode = w->mode,
			  .nr = w->nr,
			  .visit_ns = w->visit_ns,
			  .args = {w->arg0},
			  .result = wait_had_cpu(w),
			  .file = w->file,
			  .ctx = w->ctx,
			  .reason = w->reason,
			  .wake = w->wake,
			  .split = w->split};

	partial_failed(p, kspan_keep(p, &k));
}

static void on_wait(void *arg, const struct life *l, const struct life_wait *w)
{
	struct partial *p = arg;

	partial_failed(p, call_details_wait(p, l->tid, w));
	if (p->options.state_only || !partial_in_range(p, w->end_ns))
		return;
	partial_failed(p, wait_sums_add(p, l, w));
	if (p->options.spans)
		wait_keep(p, l, w);
}

static u64 call_began_ns(const struct record_syscall *c)
{
	return c->head.time_ns - c->duration_ns;
}

static void syscall_sums(struct partial *p, const struct life *l, const struct life_visit *v)
{
	const struct record_syscall *c = v->syscall;
	bool compat = c->flags & SYSCALL_COMPAT;
	const u64 args[] = {c->arg0, c->arg1, c->arg2, c->arg3, c->arg4, c->arg5};
	struct call_detail detail;
	struct call_sum call = {.key = call_key(c->nr, compat),
				.error = syscall_error(c->flags, c->nr, c->result),
				.pid = l->pid,
				.tid = l->tid,
				.file = &c->file,
				.fd = call_fd(c->flags, c->nr, args, 6),
				.begin_ns = v->begin_ns};
	struct sum_one one = {.duration_ns = v->end_ns - v->begin_ns,
			      .part = syscall_is_restart(c->result),
			      .idle = work_is_assumed(v->work) ? &v->idle : NULL};
	int native = compat ? syscall_native(c->nr) : c->nr;
	struct other_end other;

	if (!compat && syscall_other_end(native, c->file.kind, &other)) {
		call.other = &other;
		call.other_fd = (s32)args[other.argument];
	}
	if (call_details_take(p, l->tid, call_began_ns(c), &detail))
		call.detail = &detail;
	if (c->result > 0)
		sum_one_moves(&one, syscall_moves(native), (u64)c->result);
	partial_failed(p, call_sums_add(p, &call, v->plain ? NULL : &v->split, &one));
}

static void syscall_keep(struct partial *p, const struct life *l, const struct life_visit *v)
{
	bool cut = v->end_ns - v->begin_ns < v->syscall->duration_ns;
	struct kspan_call call = {.begin_ns = v->begin_ns,
				  .end_ns = v->end_ns,
				  .tid = l->tid,
				  .pid = l->pid,
				  .flags = (v->syscall->flags & ~SYSCALL_BEFORE_UNKNOWN) |
					   (cut ? SYSCALL_BEGIN_SOFT : 0),
				  .record = v->syscall};
	struct kspan k;

	if (__builtin_expect(v->plain && !p->options.only && !p->options.meters, 1)) {
		partial_failed(p, kspans_add_call(&p->kspans, &call));
		return;
	}
	k = kspan_of_call(&call);
	k.split = v->split;
	k.work = v->work;
	k.idle = v->idle;
	partial_failed(p, kspan_keep(p, &k));
}

/* The file that a major fault read; none: it has no kind. */
static struct file_ref fault_file(const struct record_fault *f)
{
	return (struct file_ref){.key = f->inode,
				 .dev = FAULT_MAPPED_DEV(f->mapped),
				 .kind = FAULT_MAPPED_KIND(f->mapped),
				 .flags = FAULT_MAPPED_FLAGS(f->mapped)};
}

/* A fault in a call: the call has its time. Its file's name is told just before its end. */
static void fault_sums(struct partial *p, const struct life *l, const struct life_visit *v)
{
	static const struct split none;
	const struct file_ref file = fault_file(v->fault);
	const struct file_use use = {file, l->pid, -1, v->end_ns};
	const struct sum_one one = {.duration_ns = v->end_ns - v->begin_ns};
	bool user = v->fault->flags & FAULT_USER;

	if (file.kind)
		partial_failed(p, fault_sums_add(p, l, &use, user ? &v->split : &none, &one));
}

static void fault_keep(struct partial *p, const struct life *l, const struct life_visit *v)
{
	const struct record_fault *f = v->fault;
	struct kspan k = {
		.kind = KSPAN_FAULT,
		.begin_ns = v->begin_ns,
		.end_ns = v->end_ns,
		.tid = l->tid,
		.pid = l->pid,
		.args = {f->address, f->ip, f->flags & ~(u32)FAULT_BEFORE_UNKNOWN, f->offset},
		.file = fault_file(f),
		.ctx = f->ctx,
		.split = v->split};

	partial_failed(p, kspan_keep(p, &k));
}

static void on_visit(void *arg, const struct life *l, const struct life_visit *v)
{
	struct partial *p = arg;
	struct call_detail past;

	if (v->syscall && p->options.state_only)
		call_details_take(p, l->tid, call_began_ns(v->syscall), &past);
	if (p->options.state_only || !partial_in_range(p, v->end_ns))
		return;
	/* a thread that is killed while a tracer holds it in exit seems to return from exit */
	if (v->syscall && !call_returns(v->syscall->nr, v->syscall->flags & SYSCALL_COMPAT))
		return;
	if (v->syscall)
		syscall_sums(p, l, v);
	else
		fault_sums(p, l, v);
	if (!p->options.spans)
		return;
	if (v->syscall)
		syscall_keep(p, l, v);
	else
		fault_keep(p, l, v);
}

static void on_owned(void *arg, const struct life *l, const struct life_share *share)
{
	struct partial *p = arg;

	if (context_is_none(&share->ctx) && !p->options.state_only)
		partial_failed(p, unowned_add(p, l, share));
	else if (context_is_none(&share->ctx))
		return; /* nobody asks for time before the instant of a checkpoint */
	else
		partial_failed(p, spans_share(p, true, l, share));
}

static void on_sighted(void *arg, const struct life *l, const struct life_share *share)
{
	partial_failed(arg, spans_share(arg, false, l, share));
}

static void on_unnamed(void *arg, const struct life *l, const struct life_share *share)
{
	partial_failed(arg, unsure_add(arg, l, share));
}

struct life_sink partial_sink(struct partial *p)
{
	return (struct life_sink){.arg = p,
				  .wait = on_wait,
				  .visit = on_visit,
				  .owned = on_owned,
				  .sighted = on_sighted,
				  .unnamed = on_unnamed};
}
