/* SPDX-License-Identifier: Apache-2.0 */
/* A span for each line that it reads, named by it. */
#include <fathom/fathom.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	char line[64];

	fathom_init("contained");
	while (fgets(line, sizeof(line), stdin)) {
		struct fathom_span span;

		line[strcspn(line, "\n")] = '\0';
		span = fathom_span_begin(line);
		fathom_span_end(&span);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
