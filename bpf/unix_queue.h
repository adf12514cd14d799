/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Positions in what goes into the receive queue of a Unix socket: bytes of a
 * stream, messages of the other types. The kernel counts neither, so they are
 * counted here from the first sight on, kept with the socket that receives.
 *
 * A call is told of after it is done, so a count lags behind the truth by what
 * the calls of that end in progress have done. With q in the queue:
 *
 *	all that was sent - all that was received = q
 *	sent - received = q	where no call is in progress
 *	sent - q > received	bytes left the queue untold: splice, or a call in progress
 *	received + q > sent	likewise bytes came untold
 *
 * At first sight the receiver stands at 0, the sender behind what is queued.
 * If something is, a call in progress may have taken part of it: what is told
 * is unsure until the two counts and the queue agree once.
 */
#ifndef BPF_UNIX_QUEUE_H
#define BPF_UNIX_QUEUE_H

#include "bpf/kernel_versions.h"

#define QUEUE_SENT 1	 /* `sent` counts */
#define QUEUE_RECEIVED 2 /* `received` counts */
#define QUEUE_UNSURE 4
#define QUEUE_SHARED 8 /* more than one thread has received */

struct bpf_spin_lock {
	u32 val;
};

struct unix_end {
	u64 at;	    /* where its next byte or message begins */
	u64 end_ns; /* of its last call, by `tid` */
	u32 tid;
	u32 pad;
};

struct unix_queue {
	struct bpf_spin_lock lock;
	u32 flags;    /* QUEUE_* */
	u64 first_ns; /* when it was seen first */
	u64 base;     /* what had been sent then, if a receiver saw it first */
	struct unix_end sender, receiver;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct unix_queue);
} unix_queues SEC(".maps");

/* A call that has ended: by whom, when it began and ended, how much went through. */
struct unix_call {
	u64 begin_ns, end_ns, amount;
	u32 tid;
	bool messages;
};

/* Bytes or messages in the queue; less than 0: not known. */
static __always_inline s64 unix_queued(const struct unix_sock *to, bool messages)
{
	u32 messages_now = to->sk.sk_receive_queue.qlen;

	return messages || !messages_now ? messages_now : unix_stream_queued(to);
}

/* Notes the end of a call. Was another thread of this end at it meanwhile? */
static __always_inline bool unix_overlaps(struct unix_end *end, const struct unix_call *call)
{
	bool overlaps = end->tid != call->tid && end->end_ns > call->begin_ns;

	end->tid = call->tid;
	end->end_ns = call->end_ns;
	return overlaps;
}

static __always_inline void unix_settle(struct unix_queue *queue, s64 queued)
{
	if ((queue->flags & QUEUE_UNSURE) && queued >= 0 && (queue->flags & QUEUE_SENT) &&
	    (queue->flags & QUEUE_RECEIVED) && queue->sender.at - queue->receiver.at == (u64)queued)
		queue->flags &= ~QUEUE_UNSURE;
}

/* The position at which the sender's first recorded call ends. */
static __always_inline u64 unix_first_sent(struct unix_queue *queue, const struct unix_call *call,
					   s64 queued)
{
	if (queue->flags & QUEUE_RECEIVED) {
		bool untold = call->begin_ns == CALL_UNTOLD_NS;

		if (untold) /* it may have begun before */
			queue->flags |= QUEUE_UNSURE;
		if (untold || call->begin_ns > queue->first_ns)
			return queue->base + call->amount;
		queue->flags |= QUEUE_UNSURE;
		return queue->receiver.at + (queued > 0 ? (u64)queued : 0);
	}
	queue->first_ns = call->end_ns;
	if (queued >= 0 && (u64)queued <= call->amount)
		return call->amount;
	queue->flags |= QUEUE_UNSURE;
	return queued < 0 ? call->amount : (u64)queued;
}

/* Returns where what the call sent begins; *unsure is set if that is not sure. */
static __always_inline u64 unix_sent(struct unix_queue *queue, const struct unix_sock *to,
				     const struct unix_call *call, bool *unsure)
{
	bool first;
	u64 end;
	s64 queued;

	bpf_spin_lock(&queue->lock);
	queued = unix_queued(to, call->messages);
	first = !(queue->flags & QUEUE_SENT);
	end = first ? unix_first_sent(queue, call, queued) : queue->sender.at + call->amount;
	if (end < call->amount)
		end = call->amount;
	queue->sender.at = end;
	queue->flags |= QUEUE_SENT;
	*unsure = unix_overlaps(&queue->sender, call);
	if ((queue->flags & QUEUE_RECEIVED) && queued >= 0 &&
	    queue->receiver.at + (u64)queued > end)
		*unsure = true;
	if (queue->flags & QUEUE_UNSURE)
		*unsure = true;
	if (!first) /* what is taken of the queue's length agrees with it */
		unix_settle(queue, queued);
	bpf_spin_unlock(&queue->lock);
	return end - call->amount;
}

/* Returns where what the call received begins, likewise. */
static __always_inline u64 unix_received(struct unix_queue *queue, const struct unix_sock *at,
					 const struct unix_call *call, bool *unsure)
{
	u64 end;
	s64 queued, more;

	bpf_spin_lock(&queue->lock);
	queued = unix_queued(at, call->messages);
	if (!(queue->flags & (QUEUE_SENT | QUEUE_RECEIVED))) {
		queue->first_ns = call->end_ns;
		queue->base = call->amount + (queued > 0 ? (u64)queued : 0);
		queue->flags |= queued ? QUEUE_UNSURE : 0;
	}
	if ((queue->flags & QUEUE_RECEIVED) && queue->receiver.tid != call->tid)
		queue->flags |= QUEUE_SHARED;
	end = queue->receiver.at + call->amount;
	*unsure = unix_overlaps(&queue->receiver, call);
	more = (queue->flags & QUEUE_SENT) && queued >= 0
		       ? (s64)(queue->sender.at - (u64)queued - end)
		       : 0;
	if (more > 0 && !call->messages && !(queue->flags & QUEUE_SHARED))
		end += more; /* taken by splice: a hole */
	else if (more > 0)
		*unsure = true;
	queue->receiver.at = end;
	queue->flags |= QUEUE_RECEIVED;
	if (queue->flags & QUEUE_UNSURE)
		*unsure = true;
	unix_settle(queue, queued);
	bpf_spin_unlock(&queue->lock);
	return end - call->amount;
}

#endif
