// SPDX-License-Identifier: Apache-2.0
/*
 * Maps the rings of the kernel programs into our memory (record/ring.h). The slots of each ring are
 * mapped twice in a row. The ring buffer `rare` has the kernel's layout: a page with the consumer's
 * position, a page with the producer's position, then the data twice in a row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "capture/internal.h"
#include "programs.skel.h"

#define RING_BITS_MAX 17 /* 8 MiB a CPU */
#define RING_BITS_MIN 6	 /* a page */

u32 capture_ring_bits(u32 cpus, u64 wish)
{
	u32 bits = wish ? 24 : RING_BITS_MAX;
	struct sysinfo info = {0};

	sysinfo(&info);
	if (!wish)
		wish = (u64)info.totalram * info.mem_unit / 8;
	while (bits > RING_BITS_MIN &&
	       (((u64)cpus * RECORD_SLOT_BYTES << bits) > wish || ((u64)cpus << bits) > UINT32_MAX))
		bits--;
	return bits;
}

static int ring_map(struct capture *c, u32 cpu, int fd)
{
	size_t size = (size_t)RECORD_SLOT_BYTES << c->ring_bits;
	u8 *at = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	c->rings[cpu].slots = at;
	for (int i = 0; i < 2; i++) {
		if (mmap(at + i * size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 cpu * size) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static size_t pages_of(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static size_t controls_size(const struct capture *c)
{
	return pages_of(c->ring_count * sizeof(struct ring_control));
}

static size_t losses_size(const struct capture *c)
{
	return pages_of(c->ring_count * sizeof(struct ring_losses));
}

static int controls_map(struct capture *c)
{
	const struct ring_losses *losses;

	c->controls = mmap(NULL, controls_size(c), PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(c->programs->maps.rings), 0);
	if (c->controls == MAP_FAILED) {
		c->controls = NULL;
		return -errno;
	}
	losses = mmap(NULL, losses_size(c), PROT_READ, MAP_SHARED,
		      bpf_map__fd(c->programs->maps.losses), 0);
	if (losses == MAP_FAILED)
		return -errno;
	c->losses = losses;
	return 0;
}

static int rare_map(struct capture *c, int fd)
{
	struct capture_rare *rare = &c->rare;
	u8 *at;

	rare->page = sysconf(_SC_PAGESIZE);
	rare->size = CAPTURE_RARE_BYTES;
	rare->mark.ns = rare->mark.before_ns = host_clock_now_ns();
	at = mmap(NULL, rare->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	rare->consumer = (void *)at;
	at = mmap(NULL, rare->page + 2 * rare->size, PROT_READ, MAP_SHARED, fd, rare->page);
	if (at == MAP_FAILED)
		return -errno;
	rare->producer = (void *)at;
	rare->data = at + rare->page;
	return 0;
}

int capture_rings_map(struct capture *c, struct error *e)
{
	int fd = bpf_map__fd(c->programs->maps.slots), err;
	u64 now = host_clock_now_ns();

	c->rings = calloc(c->ring_count, sizeof(*c->rings));
	if (!c->rings)
		return error_set(e, ENOMEM, "cannot map the ring buffers");
	err = controls_map(c);
	for (u32 cpu = 0; cpu < c->ring_count && !err; cpu++) {
		c->rings[cpu].control = &c->controls[cpu];
		c->rings[cpu].checked_ns = now;
		c->rings[cpu].mark = (struct ring_mark){.ns = now, .before_ns = now};
		err = ring_map(c, cpu, fd);
	}
	if (!err)
		err = rare_map(c, bpf_map__fd(c->programs->maps.rare));
	return err ? error_set(e, err, "cannot map the ring buffers") : 0;
}

void capture_rings_unmap(struct capture *c)
{
	size_t size = (size_t)RECORD_SLOT_BYTES << c->ring_bits;

	for (u32 cpu = 0; c->rings && cpu < c->ring_count; cpu++) {
		if (c->rings[cpu].slots)
			munmap(c->rings[cpu].slots, 2 * size);
	}
	free(c->rings);
	c->rings = NULL;
	if (c->controls)
		munmap(c->controls, controls_size(c));
	c->controls = NULL;
	if (c->losses)
		munmap((void *)c->losses, losses_size(c));
	c->losses = NULL;
	if (c->rare.consumer)
		munmap((void *)c->rare.consumer, c->rare.page);
	if (c->rare.producer)
		munmap((void *)c->rare.producer, c->rare.page + 2 * c->rare.size);
	memset(&c->rare, 0, sizeof(c->rare));
	held_free(&c->held);
	held_free(&c->inherited);
}
