/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile records (records.h) through map, merge, checkpoint, file and the trees. */
#include "map/checkpoint/checkpoint.h"
#include "map/fact/query.h"
#include "map/file/whole.h"
#include "map/tree/tree.h"
#include "records.h"

/* A deleted chunk leaves a checkpoint, which must be readable. */
static struct partial *checkpoint_of(struct partial *p, const struct partial_options *options)
{
	struct bytes bytes = {0};
	struct partial *checkpoint;

	if (checkpoint_write(p, &bytes) ||
	    checkpoint_read(&checkpoint, bytes.data, bytes.count, options))
		abort();
	bytes_free(&bytes);
	partial_free(p);
	return checkpoint;
}

/* A file must be readable, too, and say the same when it is written again. */
static struct partial *written(struct partial *p, const struct partial_options *options)
{
	struct bytes once = {0}, twice = {0};
	struct partial *again;

	if (partial_write(p, &once) || partial_read(&again, once.data, once.count, options) ||
	    partial_write(again, &twice))
		abort();
	if (once.count != twice.count || memcmp(once.data, twice.data, once.count) != 0)
		abort();
	bytes_free(&once);
	bytes_free(&twice);
	partial_free(p);
	return again;
}

static void ask(const struct partial *p)
{
	struct tree_options options = {.threads = true};
	struct tree tree;

	if (tree_build(p, &options, &tree) == 0)
		tree_free(&tree);
	for (u32 i = 0; i < 8; i++) {
		struct fd_question q = {.tid = i,
					.pid = i & 3,
					.fd = (s32)i,
					.time_ns = p->to_ns,
					.file = {.key = i}};

		query_fd_name(p, &q);
		query_comm(p, i, p->to_ns);
		query_process(p, i, p->to_ns);
		query_resource(p, i, p->to_ns, "service.name");
		query_socket(p, q.file.key, p->to_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options state = {.state_only = true}, all = {.spans = true};
	struct input in = {data, data + size, 1000};
	struct partial *p, *more;

	if (size < 3)
		return 0;
	in.at += 3;
	p = checkpoint_of(map_some(&in, &state, data[0] & 63), &all);
	more = written(map_some(&in, &all, data[1]), &all);
	if (partial_merge(more, map_some(&in, &all, data[2])) || partial_merge(p, more))
		abort();
	p = written(p, &all);
	if (partial_finish(p))
		abort();
	ask(p);
	partial_free(p);
	return 0;
}
