/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_block.h"

#include <string.h>

#include "map/fact/query.h"

const char *block_operation(u32 flags)
{
	return flags & BLOCK_DISCARD ? "discard"
	       : flags & BLOCK_FLUSH ? "flush"
	       : flags & BLOCK_WRITE ? "write"
				     : "read";
}

const char *block_device(struct span_builder *b, u32 dev)
{
	const char *name = query_device_name(b->p, dev);

	return name ? name : builder_text(b, "%u:%u", dev >> 20, dev & 0xfffff);
}

/* OpenTelemetry has names only for reads and writes. */
const char *span_add_block(struct span_builder *b, const struct kspan *k)
{
	const char *operation = block_operation(k->mode);
	u32 dev = (u32)k->args[BLOCK_ARG_DEV];
	bool sync = k->mode & BLOCK_SYNC, writeback = k->mode & BLOCK_WRITEBACK;

	builder_string(b, "system.device", block_device(b, dev));
	if (!(k->mode & (BLOCK_FLUSH | BLOCK_DISCARD)))
		builder_string(b, "disk.io.direction", operation);
	if (!(k->mode & BLOCK_FLUSH) || k->args[BLOCK_ARG_BYTES]) {
		builder_integer(b, "disk.sector", (s64)k->args[BLOCK_ARG_SECTOR]);
		builder_integer(b, "disk.bytes", (s64)k->args[BLOCK_ARG_BYTES]);
	}
	if (sync || writeback)
		builder_string(b, "disk.flags",
			       !writeback ? "sync"
			       : sync	  ? "sync,writeback"
					  : "writeback");
	builder_integer(b, "disk.queued_ns", (s64)k->args[BLOCK_ARG_QUEUED_NS]);
	if (k->mode & BLOCK_FAILED)
		builder_string(b, "error.type", "_OTHER");
	return builder_text(b, "block %s", operation);
}
