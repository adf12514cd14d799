/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int vec_grow(void **data, size_t *capacity, size_t count, size_t more, size_t size)
{
	size_t wanted = *capacity   ? *capacity
			: size < 64 ? 8
				    : 1; /* many arrays have one large element */
	void *bigger;

	if (more > SIZE_MAX / size || count > SIZE_MAX / size - more)
		return -ENOMEM;
	if (count + more <= *capacity)
		return 0;
	while (wanted < count + more)
		wanted = wanted > SIZE_MAX / 2 ? count + more : wanted * 2;
	bigger = reallocarray(*data, wanted, size);
	if (!bigger)
		return -ENOMEM;
	*data = bigger;
	*capacity = wanted;
	return 0;
}

void vec_release(void **data, size_t *capacity, size_t *count)
{
	free(*data);
	*data = NULL;
	*capacity = 0;
	*count = 0;
}
