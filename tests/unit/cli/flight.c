/* SPDX-License-Identifier: Apache-2.0 */
/* What a flight recorder keeps beside the rings, however long it runs. */
#include "cli/flight.h"

#include "tests/unit/check.h"

/* ---- a capture that has nothing ---- */

int capture_flight(struct capture *c, const struct capture_sink *sink, u64 *cut_ns)
{
	*cut_ns = 1000000;
	return 0;
}

u64 capture_flight_from(const struct capture *c)
{
	return 0;
}

int capture_look(struct capture *c, const struct capture_sink *sink, struct error *e)
{
	return 0;
}

/* ---- records ---- */

#define TEXT_BYTES 1000

static const struct capture_stream life = {.kind = CAPTURE_STREAM_LIFE};

union long_record {
	struct record_head head;
	struct record_format format;
	struct record_service service;
	struct record_mapping mapping;
	struct record_filter filter;
	u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
};

static void keep(struct flight *f, union long_record *r, u16 kind, u32 pid, u64 time_ns)
{
	r->head.kind = kind;
	r->head.slots = 18;
	r->head.pid = r->head.tid = pid;
	r->head.time_ns = time_ns;
	CHECK_EQ(flight_record(f, &life, &r->head), 0);
}

static void keep_filter(struct flight *f)
{
	union {
		struct record_filter filter;
		u8 slot[RECORD_SLOT_BYTES];
	} r = {.slot = {0}};

	r.filter.head.kind = RECORD_filter;
	r.filter.head.slots = 1;
	r.filter.flags = FILTER_SPANS;
	CHECK_EQ(flight_record(f, &life, &r.filter.head), 0);
}

static void keep_format(struct flight *f, u32 id)
{
	union long_record r = {.slots = {0}};

	r.format.format = id;
	r.format.text_len = TEXT_BYTES;
	keep(f, &r, RECORD_format, 0, 1);
}

static void keep_service(struct flight *f, u32 pid, u64 time_ns)
{
	union long_record r = {.slots = {0}};

	r.service.resource_len = TEXT_BYTES;
	keep(f, &r, RECORD_service, pid, time_ns);
}

static void keep_mapping(struct flight *f, u32 pid)
{
	union long_record r = {.slots = {0}};

	r.mapping.path_len = TEXT_BYTES;
	keep(f, &r, RECORD_mapping, pid, 1);
}

/* ---- what is written ---- */

static struct {
	unsigned int filters, formats, services, mappings, functions;
	u64 lost_services, lost_mappings;
	u64 newest_of_7; /* time of the service of process 7 that was written last */
} written;

static int see(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	written.filters += r->kind == RECORD_filter;
	written.formats += r->kind == RECORD_format;
	written.services += r->kind == RECORD_service;
	written.mappings += r->kind == RECORD_mapping && r->pid;
	written.functions += r->kind == RECORD_mapping && !r->pid;
	if (r->kind == RECORD_service && r->pid == 7)
		written.newest_of_7 = r->time_ns;
	return 0;
}

static int see_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	if (lost->lost_kind == RECORD_service)
		written.lost_services += lost->count;
	if (lost->lost_kind == RECORD_mapping)
		written.lost_mappings += lost->count;
	return 0;
}

static void write_all(struct flight *f)
{
	const struct capture_sink sink = {.record = see, .lost = see_lost};
	u64 from_ns, cut_ns;

	memset(&written, 0, sizeof(written));
	CHECK_EQ(flight_take(f, NULL, &from_ns, &cut_ns, NULL), 0);
	CHECK_EQ(flight_write(f, NULL, from_ns, &sink, NULL), 0);
}

/* ---- */

TEST(formats_and_filters_stay)
{
	struct flight *f = flight_new();

	CHECK(f != NULL);
	keep_filter(f);
	keep_format(f, 1);
	keep_mapping(f, 0);
	for (u32 pid = 1; pid <= 20000; pid++)
		keep_service(f, pid, pid);
	write_all(f);
	CHECK_EQ(written.filters, 1);
	CHECK_EQ(written.formats, 1);
	CHECK_EQ(written.functions, 1);
	flight_free(f);
}

TEST(what_is_told_at_each_cut_is_kept_once)
{
	struct flight *f = flight_new();

	for (int i = 0; i < 100; i++) {
		keep_filter(f);
		keep_format(f, 1);
		keep_format(f, 2);
	}
	write_all(f);
	CHECK_EQ(written.filters, 1);
	CHECK_EQ(written.formats, 2);
	flight_free(f);
}

TEST(what_is_dropped_is_counted)
{
	struct flight *f = flight_new();

	for (u32 pid = 1; pid <= 20000; pid++) {
		keep_service(f, pid, pid);
		keep_mapping(f, pid);
	}
	write_all(f);
	CHECK(written.services > 500);
	CHECK(written.lost_services > 0);
	CHECK_EQ(written.services + written.lost_services, 20000);
	CHECK_EQ(written.mappings + written.lost_mappings, 20000);
	write_all(f); /* the next chunk misses them, too */
	CHECK_EQ(written.services + written.lost_services, 20000);
	flight_free(f);
}

TEST(a_service_that_was_replaced_is_no_loss)
{
	struct flight *f = flight_new();

	for (u64 i = 1; i <= 20000; i++)
		keep_service(f, 7 + i % 3, i);
	write_all(f);
	CHECK_EQ(written.lost_services, 0);
	CHECK_EQ(written.newest_of_7, 19998);
	flight_free(f);
	flight_free(NULL);
}

TEST_MAIN()
