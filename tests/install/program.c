/* SPDX-License-Identifier: Apache-2.0 */
/* Built outside the tree, against what is installed. */
#include <fathom/fathom.h>
#include <string.h>

int main(void)
{
	struct fathom_span s, child;

	if (fathom_init("program") < 0)
		return 1;
	s = fathom_span_begin("root");
	child = fathom_span_begin("child");
	if (memcmp(child.parent_id, s.span_id, 8) != 0)
		return 2;
	fathom_span_end(&child);
	fathom_span_end(&s);
	return fathom_span_current().state;
}
