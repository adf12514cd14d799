/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/lacks.h"

#include <string.h>

#include "base/names.h"

static bool has_stand_in(const struct capture_feature *features, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (features[i].on && features[i].instead_of &&
		    strcmp(features[i].instead_of, name) == 0)
			return true;
	return false;
}

void missing_list(const struct capture_feature *features, size_t count, char *list, size_t size)
{
	list[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct capture_feature *f = &features[i];

		if (f->tells && !f->on && !f->instead_of && !has_stand_in(features, count, f->name))
			names_join(list, size, f->name);
	}
}

void missing_of(const struct capture *c, char *list, size_t size)
{
	size_t count;
	const struct capture_feature *features = capture_features(c, &count);

	missing_list(features, count, list, size);
}
