/* SPDX-License-Identifier: Apache-2.0 */
#include "up/post.h"

#include <errno.h>

#include "serve/entry.h"
#include "up/spans.h"
#include "wire/otlp_write.h"

#define SLICE_SPANS 1024 /* of one request */
#define RETRY_NS 100000000u
#define RETRY_MAX_NS 2000000000u

/*
 * Sends the body until serve has it, if spans are kept. Spans of the program and of the kernel are
 * counted. -ECANCELED: there is no more time.
 */
static int body_send(struct post *p, size_t spans, size_t kernel)
{
	uint64_t wait_ns = RETRY_NS;

	while (!atomic_load(&p->board->serve.store_missing)) {
		int err = sender_send(&p->sender, &p->body, NULL);

		if (!err) {
			atomic_fetch_add(p->counts.spans, spans);
			atomic_fetch_add(p->counts.kernel_spans, kernel);
		} else if (err == -EPROTO) {
			atomic_fetch_add(p->counts.refused, spans + kernel);
		}
		if (!err || err == -EPROTO)
			return 0;
		if (p->is_over(p->arg, wait_ns))
			return -ECANCELED;
		wait_ns = wait_ns < RETRY_MAX_NS ? 2 * wait_ns : wait_ns;
	}
	return 0;
}

static int slice_send(struct post *p, const struct received_span *spans, size_t count)
{
	size_t kernel = 0;
	int err;

	for (size_t i = 0; i < count; i++)
		kernel += spans_is_kernel(&spans[i]);
	p->body.count = 0;
	otlp_write(&p->body, spans, count);
	if (p->body.failed)
		return -ENOMEM;
	if (p->body.count <= BODY_BYTES_MAX || count == 1)
		return body_send(p, count - kernel, kernel);
	err = slice_send(p, spans, count / 2);
	return err ? err : slice_send(p, spans + count / 2, count - count / 2);
}

int post_spans(struct post *p, const struct received_batch *batch)
{
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i += SLICE_SPANS) {
		size_t left = batch->count - i;

		err = slice_send(p, &batch->data[i], left < SLICE_SPANS ? left : SLICE_SPANS);
	}
	return err;
}

void post_end(struct post *p)
{
	sender_close(&p->sender);
	bytes_free(&p->body);
}
