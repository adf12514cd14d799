// SPDX-License-Identifier: Apache-2.0
/*
 * Computes the memory of the kernel programs' maps from their definitions. The kernel tells it in
 * fdinfo, too, but before 6.4 it counts entries that are allocated when needed at their maximum.
 */
#include <bpf/libbpf.h>

#include "capture/kernel/kernel.h"
#include "programs.skel.h"

/* The overhead of a hash: struct htab_elem and struct bucket in the kernel. */
#define HASH_ELEMENT_BYTES 48
#define HASH_BUCKET_BYTES 16
#define ALIGNED(bytes) (((u64)(bytes) + 7) & ~7ull)

static u64 map_of_hash_bytes(const struct bpf_map *map, u32 cpus)
{
	u64 element = HASH_ELEMENT_BYTES + ALIGNED(bpf_map__key_size(map)) +
		      ALIGNED(bpf_map__value_size(map));
	u64 entries = bpf_map__max_entries(map), buckets = 1;

	while (buckets < entries)
		buckets *= 2;
	if (bpf_map__map_flags(map) & BPF_F_NO_PREALLOC)
		entries = 0;
	else if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
		entries += cpus; /* each CPU has a spare entry */
	return buckets * HASH_BUCKET_BYTES + entries * element;
}

/* The memory of a map from the begin. Storage of threads and sockets is allocated with these. */
static u64 map_bytes(const struct bpf_map *map, u32 cpus)
{
	u64 entries = bpf_map__max_entries(map), value = ALIGNED(bpf_map__value_size(map));

	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_ARRAY:
		return entries * value;
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return entries * value * cpus;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		return map_of_hash_bytes(map, cpus);
	case BPF_MAP_TYPE_RINGBUF:
		return entries;
	default:
		return 0;
	}
}

void capture_memory(const struct capture *c, struct capture_memory *out)
{
	const struct bpf_map *map;

	*out = (struct capture_memory){
		.ring_bytes = map_bytes(c->programs->maps.slots, c->ring_count)};
	bpf_object__for_each_map(map, c->programs->obj)
		out->table_bytes += map_bytes(map, c->ring_count);
	out->table_bytes -= out->ring_bytes;
}
