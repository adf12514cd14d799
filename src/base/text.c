/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <string.h>

#define LONGEST 64

int text_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	int row[LONGEST + 1];

	if (n > LONGEST || m > LONGEST)
		return TEXT_DISTANCE_FAR;
	for (size_t j = 0; j <= m; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int diagonal = row[0];

		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}
