/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "chunk/file.h"
#include "chunk/format.h"
#include "chunk/manifest.h"
#include "record/describe.h"

/*
 * Names of fields get a leading `_`, which readers remove, so that no name is a keyword
 * of TSDL. The tid is in the context of events, since readers complain about unknown
 * fields in the header.
 */
static const char types[] =
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 16; align = 8; } := u16;\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"typealias integer { size = 64; align = 8; } := u64;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := text;\n"
	"typealias enum : integer { size = 2; align = 1; } { none = 0, word = 1, quad = 2 }"
	" := presence;\n";

static const char packet_header[] = "\tpacket.header := struct {\n"
				    "\t\tu32 magic;\n"
				    "\t\tu8 uuid[16];\n"
				    "\t\tu32 stream_id;\n"
				    "\t};\n";

static const char stream_class[] =
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time;\n"
	"stream {\n"
	"\tid = 0;\n"
	"\tpacket.context := struct {\n"
	"\t\ttime timestamp_begin;\n"
	"\t\ttime timestamp_end;\n"
	"\t\tu64 content_size;\n"
	"\t\tu64 packet_size;\n"
	"\t\tu64 events_discarded;\n"
	"\t\tu64 packet_seq_num;\n"
	"\t\tu64 records_before;\n"
	"\t\tu32 cpu_id;\n"
	"\t\tu32 checksum;\n"
	"\t};\n"
	"\tevent.header := struct {\n"
	"\t\tinteger { size = 32; align = 8; map = clock.monotonic.value; } timestamp;\n"
	"\t\tu8 id;\n"
	"\t} align(32);\n"
	"};\n";

static const char switch_again[] =
	"/* like the last switch of this packet whose number modulo 256 is _as, but later */\n"
	"event {\n\tname = \"switch_again\";\n\tid = 255;\n\tstream_id = 0;\n"
	"\tfields := struct {\n\t\tu8 _as;\n\t\tu16 _since_ns;\n\t};\n};\n";

static void print_presence(FILE *f, const struct record_kind_info *kind)
{
	unsigned int vars = 0;

	for (unsigned int i = 0; i < kind->field_count; i++) {
		if (kind->fields[i].field_class == RECORD_FIELD_VAR) {
			fprintf(f, "\t\tpresence __has_%s;\n", kind->fields[i].name);
			vars++;
		}
	}
	if (vars && vars < 16)
		fprintf(f, "\t\tinteger { size = %u; align = 1; } __has_rest;\n", 32 - 2 * vars);
}

static void print_fixed(FILE *f, const struct record_kind_info *kind)
{
	for (unsigned int i = 0; i < kind->field_count; i++) {
		const struct record_field *field = &kind->fields[i];

		if (field->field_class == RECORD_FIELD_FIX)
			fprintf(f, "\t\t%s _%s;\n", field->type, field->name);
	}
	for (unsigned int i = 0; i < kind->field_count; i++) {
		const struct record_field *field = &kind->fields[i];

		if (field->field_class == RECORD_FIELD_FILEREF ||
		    field->field_class == RECORD_FIELD_CTXREF)
			fprintf(f, "\t\tu16 _%s;\n", field->name);
	}
}

/* Some texts are binary data: readers print these as numbers. */
static const char *text_type(unsigned int id)
{
	bool binary = id == RECORD_stack || id == RECORD_sample || id == RECORD_event;

	return binary ? "u8" : "text";
}

static void print_event(FILE *f, unsigned int id, const struct record_kind_info *kind)
{
	const struct record_field *text = NULL;

	fprintf(f, "/* %s */\nevent {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n",
		kind->what, kind->name, id);
	fprintf(f, "\tcontext := struct {\n\t\tinteger { size = 24; align = 8; } _tid;\n\t};\n");
	fprintf(f, "\tfields := struct {\n");
	print_presence(f, kind);
	print_fixed(f, kind);
	for (unsigned int i = 0; i < kind->field_count; i++) {
		if (kind->fields[i].field_class == RECORD_FIELD_TEXT) {
			text = &kind->fields[i];
			fprintf(f, "\t\tu16 __%s_len;\n", text->name);
		}
	}
	for (unsigned int i = 0; i < kind->field_count; i++) {
		const struct record_field *field = &kind->fields[i];
		char sign = field->is_signed ? 's' : 'u';

		if (field->field_class == RECORD_FIELD_VAR)
			fprintf(f,
				"\t\tvariant <__has_%s> { struct {} none; %c32 word; %c64 quad; } "
				"_%s;\n",
				field->name, sign, sign, field->name);
	}
	if (text)
		fprintf(f, "\t\t%s _%s[__%s_len];\n", text_type(id), text->name, text->name);
	fprintf(f, "\t};\n};\n");
}

/* Without a manifest, readers find missing CPU streams by this: see guess_info(). */
static void print_cpus(FILE *f, const struct chunk_info *info)
{
	if (info->cpus_unknown)
		return;
	fprintf(f, "\tcpus = \"");
	if (info->cpu_list[0])
		fprintf(f, "%s", info->cpu_list);
	else if (info->cpus)
		fprintf(f, info->cpus > 1 ? "0-%" PRIu64 : "%" PRIu64, info->cpus - 1);
	fprintf(f, "\";\n");
}

/* The same for filters, which make time on a CPU unknown. */
static void print_filters(FILE *f, const struct chunk_info *info)
{
	if (info->filters)
		fprintf(f, "\tfilters = %" PRIu64 ";\n", info->filters);
}

static void print_trace(FILE *f, const struct chunk_info *info)
{
	const uint8_t *u = info->identity;
	uint64_t offset = info->clock.unix_ns - info->clock.monotonic_ns;

	fprintf(f, "/* CTF 1.8 */\n%s", types);
	fprintf(f, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n\tuuid = \"");
	for (int i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	fprintf(f, "\";\n%s};\n", packet_header);
	fprintf(f,
		"env {\n\thostname = \"%s\";\n\tboot_id = \"%s\";\n\tdomain = \"kernel\";\n"
		"\ttracer_name = \"fathom\";\n\tcontract = %d;\n",
		info->host, info->boot_id, RECORD_CONTRACT_VERSION);
	print_cpus(f, info);
	print_filters(f, info);
	fprintf(f,
		"};\nclock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n\toffset_s = %" PRIu64
		";\n\toffset = %" PRIu64 ";\n\tabsolute = TRUE;\n};\n",
		offset / 1000000000, offset % 1000000000);
}

int metadata_write(int dir, const struct chunk_info *info, uint64_t *bytes, uint32_t *crc,
		   struct error *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f)
		return error_set(e, ENOMEM, "cannot write the metadata");
	print_trace(f, info);
	fputs(stream_class, f);
	for (unsigned int id = 0; id <= RECORD_KIND_MAX; id++) {
		const struct record_kind_info *kind = record_kind_info(id);

		if (kind)
			print_event(f, id, kind);
	}
	fputs(switch_again, f);
	err = fclose(f) ? -ENOMEM : file_replace(dir, METADATA_NAME, text, len, false);
	if (!err) {
		*bytes = len;
		*crc = crc32c(0, text, len);
	}
	free(text);
	return err ? error_set(e, err, "cannot write the metadata") : 0;
}
