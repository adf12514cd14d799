/* SPDX-License-Identifier: Apache-2.0 */
/* The base of a recording, as somebody else may have written it. */
#include <stdint.h>
#include <stdlib.h>

#include "map/base.h"
#include "map/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options all = {.spans = true};
	struct tree_options options = {.threads = true};
	struct partial *p;
	struct tree tree;

	if (base_read(&p, data, size, &all))
		return 0;
	partial_cover(p, p->to_ns, p->to_ns + 1000);
	if (partial_finish(p) == 0 && tree_build(p, &options, &tree) == 0)
		tree_free(&tree);
	partial_free(p);
	return 0;
}
