/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoint of a recording, as somebody else may have written it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/tree/tree.h"

#define HEAD_BYTES 10 /* magic and two versions below 128 */

/* How a checkpoint of today begins. */
static const uint8_t *head(void)
{
	static uint8_t bytes[HEAD_BYTES];
	struct bytes empty = {0};
	struct partial *p;

	if (bytes[0])
		return bytes;
	p = partial_new(NULL);
	if (checkpoint_write(p, &empty))
		abort();
	memcpy(bytes, empty.data, HEAD_BYTES);
	bytes_free(&empty);
	partial_free(p);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options all = {.spans = true};
	struct tree_options options = {.threads = true};
	struct partial *p;
	struct tree tree;
	uint8_t *whole;
	int err;

	if (size < HEAD_BYTES)
		return 0;
	/* versions come and go: seeds, too, have the one that is read */
	whole = malloc(size);
	memcpy(whole, data, size);
	memcpy(whole, head(), HEAD_BYTES);
	err = checkpoint_read(&p, whole, size, &all);
	free(whole);
	if (err)
		return 0;
	partial_cover(p, p->to_ns, p->to_ns + 1000);
	if (partial_finish(p) == 0 && tree_build(p, &options, &tree) == 0)
		tree_free(&tree);
	partial_free(p);
	return 0;
}
