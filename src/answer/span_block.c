/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_block.h"

#include <string.h>

const char *block_operation(u32 flags)
{
	return flags & BLOCK_DISCARD ? "discard"
	       : flags & BLOCK_FLUSH ? "flush"
	       : flags & BLOCK_WRITE ? "write"
				     : "read";
}

/* OpenTelemetry has names only for reads and writes. */
const char *making_block(struct making *m, const struct kspan *k)
{
	const char *operation = block_operation(k->mode);
	u32 dev = (u32)k->args[BLOCK_ARG_DEV];
	bool sync = k->mode & BLOCK_SYNC, writeback = k->mode & BLOCK_WRITEBACK;

	making_string(m, "system.device", making_text(m, "%u:%u", dev >> 20, dev & 0xfffff));
	if (!(k->mode & (BLOCK_FLUSH | BLOCK_DISCARD)))
		making_string(m, "disk.io.direction", operation);
	if (!(k->mode & BLOCK_FLUSH) || k->args[BLOCK_ARG_BYTES]) {
		making_integer(m, "disk.sector", (s64)k->args[BLOCK_ARG_SECTOR]);
		making_integer(m, "disk.bytes", (s64)k->args[BLOCK_ARG_BYTES]);
	}
	if (sync || writeback)
		making_string(m, "disk.flags",
			      !writeback ? "sync"
			      : sync	 ? "sync,writeback"
					 : "writeback");
	making_integer(m, "disk.queued_ns", (s64)k->args[BLOCK_ARG_QUEUED_NS]);
	if (k->mode & BLOCK_FAILED)
		making_string(m, "error.type", "_OTHER");
	return making_text(m, "block %s", operation);
}
