/* SPDX-License-Identifier: Apache-2.0 */
#include "model/meter.h"

#include <stdlib.h>

size_t meter_stretch_behind(const struct meter_stretch *stretches, size_t count, u64 time_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stretches[middle].to_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* NULL: no memory. */
static struct split *split_of(struct meter *m, size_t stretch)
{
	if (!m->slots)
		m->slots = calloc(m->count, sizeof(*m->slots));
	if (!m->slots)
		return NULL;
	if (!m->slots[stretch]) {
		if (vec_push(&m->splits, (struct split){0}))
			return NULL;
		m->slots[stretch] = (u32)m->splits.count;
	}
	return &m->splits.data[m->slots[stretch] - 1];
}

bool meter_on_cpu(const struct meter *m, size_t stretch)
{
	return m->on_cpu && m->on_cpu[stretch];
}

static void on_cpu_note(struct meter *m, size_t stretch)
{
	if (!m->on_cpu)
		m->on_cpu = calloc(m->count, sizeof(*m->on_cpu));
	if (m->on_cpu)
		m->on_cpu[stretch] = 1;
	else
		m->failed = true;
}

void meter_spend(struct meter *m, enum split_part part, u64 from_ns, u64 to_ns)
{
	size_t i = meter_stretch_behind(m->stretches, m->count, from_ns);
	bool runs = part == SPLIT_user || part == SPLIT_kernel || part == SPLIT_cpu;

	for (; i < m->count && m->stretches[i].from_ns < to_ns; i++) {
		u64 from = m->stretches[i].from_ns > from_ns ? m->stretches[i].from_ns : from_ns;
		u64 to = m->stretches[i].to_ns < to_ns ? m->stretches[i].to_ns : to_ns;
		struct split *split = from < to ? split_of(m, i) : NULL;

		if (split)
			split->ns[part] += (s64)(to - from);
		else if (from < to)
			m->failed = true;
		if (runs && from_ns <= m->stretches[i].from_ns)
			on_cpu_note(m, i);
	}
}

const struct split *meter_split(const struct meter *m, size_t stretch)
{
	return m->slots && m->slots[stretch] ? &m->splits.data[m->slots[stretch] - 1] : NULL;
}

void meter_free(struct meter *m)
{
	free(m->slots);
	free(m->on_cpu);
	m->slots = NULL;
	m->on_cpu = NULL;
	vec_free(&m->splits);
}
