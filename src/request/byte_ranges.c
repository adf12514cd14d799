/* SPDX-License-Identifier: Apache-2.0 */
#include "request/byte_ranges.h"

size_t ranges_until(const struct byte_ranges *ranges, u64 time_ns)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->data[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool any_between(const struct byte_ranges *ranges, u64 after_ns, u64 before_ns)
{
	size_t at = ranges_until(ranges, after_ns);

	return at < ranges->count && ranges->data[at].time_ns < before_ns;
}

size_t range_completing(const struct byte_ranges *ranges, u64 to)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->data[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ranges->count || ranges->data[low].from >= to)
		return NO_RANGE;
	return low;
}

bool range_borders(const struct byte_ranges *ranges, u64 at, bool ends)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct byte_range *r = &ranges->data[middle];

		if ((ends ? r->to : r->from) < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->count && (ends ? ranges->data[low].to : ranges->data[low].from) == at;
}

bool hole_after(const struct byte_ranges *ranges, u64 time_ns)
{
	size_t at = ranges_until(ranges, time_ns);

	return at < ranges->count && ranges->data[at].hole;
}
