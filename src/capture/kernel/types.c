// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/hash.h"

/* With the index: ids by the hash of their names, in a table with free places (0). */
static struct {
	struct btf *btf;
	u32 *ids;
	u32 mask; /* places - 1 */
} types;

static u32 name_place(const char *name)
{
	return (u32)hash_bytes(name, strlen(name)) & types.mask;
}

/* The kinds that somebody asks for. */
static bool kind_counts(u32 kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_FUNC || kind == BTF_KIND_STRUCT;
}

/* Without memory there is no index, and each search goes over all types. */
static void names_index(void)
{
	u32 count = btf__type_cnt(types.btf), places = 1;

	while (places < count * 2)
		places *= 2;
	types.ids = calloc(places, sizeof(*types.ids));
	types.mask = places - 1;
	for (u32 id = 1; types.ids && id < count; id++) {
		const struct btf_type *t = btf__type_by_id(types.btf, id);
		u32 at;

		if (!kind_counts(btf_kind(t)))
			continue;
		at = name_place(btf__name_by_offset(types.btf, t->name_off));
		while (types.ids[at])
			at = (at + 1) & types.mask;
		types.ids[at] = id;
	}
}

const struct btf *capture_types(void)
{
	if (!types.btf) {
		types.btf = btf__load_vmlinux_btf();
		if (types.btf)
			names_index();
	}
	return types.btf;
}

u32 capture_type_id(const char *name, u32 kind)
{
	const struct btf *btf = capture_types();
	s32 found;

	if (!btf)
		return 0;
	if (!types.ids || !kind_counts(kind)) {
		found = btf__find_by_name_kind(btf, name, kind);
		return found > 0 ? (u32)found : 0;
	}
	for (u32 at = name_place(name); types.ids[at]; at = (at + 1) & types.mask) {
		const struct btf_type *t = btf__type_by_id(btf, types.ids[at]);

		if (btf_kind(t) == kind && strcmp(btf__name_by_offset(btf, t->name_off), name) == 0)
			return types.ids[at];
	}
	return 0;
}

bool capture_type_is_tracepoint(const char *name)
{
	char type[96];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return capture_type_id(type, BTF_KIND_TYPEDEF);
}

void capture_types_drop(void)
{
	btf__free(types.btf);
	free(types.ids);
	types.btf = NULL;
	types.ids = NULL;
}
