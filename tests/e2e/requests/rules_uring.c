/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for each connection that moves all bytes by an io_uring of its own. */
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rules.h"

#define ENTRIES 4
#define NO_IO_URING 77

struct ring {
	int fd;
	struct io_uring_params params;
	unsigned char *submissions, *completions;
	struct io_uring_sqe *requests;
};

static _Thread_local struct ring *ring;

static _Atomic unsigned int *word(unsigned char *queue, unsigned int offset)
{
	return (_Atomic unsigned int *)(queue + offset);
}

static void *map_of(const struct ring *r, size_t bytes, off_t which)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			 which);

	return map == MAP_FAILED ? NULL : map;
}

static struct ring *ring_open(void)
{
	struct ring *r = calloc(1, sizeof(*r));
	const struct io_uring_params *p = &r->params;

	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &r->params);
	if (r->fd < 0)
		_exit(NO_IO_URING);
	r->submissions = map_of(r, p->sq_off.array + p->sq_entries * sizeof(unsigned int),
				IORING_OFF_SQ_RING);
	r->completions = map_of(r, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
				IORING_OFF_CQ_RING);
	r->requests = map_of(r, p->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (!r->submissions || !r->completions || !r->requests)
		_exit(NO_IO_URING);
	return r;
}

static ssize_t ring_move(int fd, void *data, size_t bytes, bool is_sent)
{
	const struct io_uring_params *p;
	unsigned int tail, head, at;
	const struct io_uring_cqe *done;

	if (!ring)
		ring = ring_open();
	p = &ring->params;
	tail = atomic_load(word(ring->submissions, p->sq_off.tail));
	at = tail & (p->sq_entries - 1);
	ring->requests[at] = (struct io_uring_sqe){
		.opcode = is_sent ? IORING_OP_SEND : IORING_OP_RECV,
		.fd = fd,
		.addr = (uintptr_t)data,
		.len = (unsigned int)bytes,
	};
	*word(ring->submissions, p->sq_off.array + at * (unsigned int)sizeof(at)) = at;
	atomic_store(word(ring->submissions, p->sq_off.tail), tail + 1);
	head = atomic_load(word(ring->completions, p->cq_off.head));
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -1;
	while (atomic_load(word(ring->completions, p->cq_off.tail)) == head)
		syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	done = (const struct io_uring_cqe *)(ring->completions + p->cq_off.cqes);
	done += head & (p->cq_entries - 1);
	atomic_store(word(ring->completions, p->cq_off.head), head + 1);
	return done->res;
}

static void *serve(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);

	asked_serve(a, &backend);
	close(ring->fd); /* its maps stay: there are few connections */
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void uring(void)
{
	close(ring_open()->fd);
	talk_move = ring_move;
	for (;;)
		thread_begin(serve, asked_accept());
}

const struct mode uring_modes[] = {{"uring", uring}, {NULL, NULL}};
