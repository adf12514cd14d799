/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads names of the Itanium C++ ABI (https://itanium-cxx-abi.github.io/cxx-abi/abi.html), which
 * the older names of Rust imitate. "_Z" is followed by a name, then by the types of the parameters.
 * Types are read as a row of tokens: only tokens with their own end ("E") or a length must be
 * known.
 */
#include "symbol/symbol_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define RUST_HASH 17 /* "h" and 16 hex digits */

struct reader {
	const char *at;
	char *out;
	size_t used, room;
	int depth;
	const char *last; /* the last class name, for its constructor; without a NUL */
	size_t last_length;
};

struct short_name {
	const char *code, *name;
};

static const struct short_name standard[] = {
	{"Sa", "std::allocator"}, {"Sb", "std::basic_string"}, {"Ss", "std::string"},
	{"Si", "std::istream"},	  {"So", "std::ostream"},      {"Sd", "std::iostream"},
};

static const struct short_name operators[] = {
	{"nw", " new"},	     {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"},
	{"aw", " co_await"}, {"ng", "-"},      {"ad", "&"},	  {"de", "*"},
	{"co", "~"},	     {"pl", "+"},      {"mi", "-"},	  {"ml", "*"},
	{"dv", "/"},	     {"rm", "%"},      {"an", "&"},	  {"or", "|"},
	{"eo", "^"},	     {"aS", "="},      {"pL", "+="},	  {"mI", "-="},
	{"mL", "*="},	     {"dV", "/="},     {"rM", "%="},	  {"aN", "&="},
	{"oR", "|="},	     {"eO", "^="},     {"ls", "<<"},	  {"rs", ">>"},
	{"lS", "<<="},	     {"rS", ">>="},    {"eq", "=="},	  {"ne", "!="},
	{"lt", "<"},	     {"gt", ">"},      {"le", "<="},	  {"ge", ">="},
	{"ss", "<=>"},	     {"nt", "!"},      {"aa", "&&"},	  {"oo", "||"},
	{"pp", "++"},	     {"mm", "--"},     {"cm", ","},	  {"pm", "->*"},
	{"pt", "->"},	     {"cl", "()"},     {"ix", "[]"},
};

static bool put(struct reader *r, const char *text, size_t length)
{
	if (length >= r->room - r->used)
		return false;
	memcpy(r->out + r->used, text, length);
	r->used += length;
	r->out[r->used] = '\0';
	return true;
}

static bool put_text(struct reader *r, const char *text)
{
	return put(r, text, strlen(text));
}

static bool take(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* A number, as lengths are. */
static bool number_take(struct reader *r, size_t *number)
{
	size_t n = 0, digits = strspn(r->at, "0123456789");

	if (!digits || digits > 4)
		return false;
	while (digits--)
		n = n * 10 + (size_t)(*r->at++ - '0');
	*number = n;
	return true;
}

/* A name with its length before it. */
static bool source_take(struct reader *r, const char **name, size_t *length)
{
	if (!number_take(r, length) || !*length || strnlen(r->at, *length) < *length)
		return false;
	*name = r->at;
	r->at += *length;
	return true;
}

/* ---- skipping types and arguments ---- */

static bool skip(struct reader *r);

static bool skip_to_end(struct reader *r)
{
	while (*r->at && *r->at != 'E')
		if (!skip(r))
			return false;
	return take(r, 'E');
}

/* Skips a token that ends in an underscore: a substitution, a template parameter, a number. */
static bool skip_to_underscore(struct reader *r)
{
	r->at += strspn(r->at, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	return take(r, '_');
}

/* Skips a lambda, or a type without a name; both have a number. */
static bool skip_unnamed(struct reader *r)
{
	bool lambda = r->at[1] == 'l';

	if (!lambda && r->at[1] != 't')
		return false;
	r->at += 2;
	return (!lambda || skip_to_end(r)) && skip_to_underscore(r);
}

/* Skips a value: its type, and digits that are not a length. */
static bool skip_literal(struct reader *r)
{
	if (!islower((unsigned char)*r->at) && !isdigit((unsigned char)*r->at) && *r->at != 'N' &&
	    *r->at != 'S' && *r->at != 'D')
		return false;
	if (!skip(r))
		return false;
	if (r->at[-1] == 't' && r->at[-2] == 'S' && !skip(r)) /* of std:: */
		return false;
	r->at += strspn(r->at, "0123456789abcdefn_");
	return take(r, 'E');
}

/* Skips a token that begins with D, also a destructor. decltype() is not supported. */
static bool skip_d(struct reader *r)
{
	if (!r->at[1] || !strchr("nacisuhdefop012345", r->at[1]))
		return false;
	r->at += 2;
	return true;
}

static bool skip_s(struct reader *r)
{
	if (islower((unsigned char)r->at[1])) {
		r->at += 2;
		return true;
	}
	r->at++;
	return skip_to_underscore(r);
}

static bool skip_token(struct reader *r)
{
	const char *name;
	size_t length;

	if (isdigit((unsigned char)*r->at))
		return source_take(r, &name, &length);
	switch (*r->at) {
	case 'S':
		return skip_s(r);
	case 'U':
		return skip_unnamed(r);
	case 'D':
		return skip_d(r);
	case 'C':
		r->at += r->at[1] >= '1' && r->at[1] <= '5' ? 2 : 1;
		return true;
	case 'T':
	case 'A':
		r->at++;
		return skip_to_underscore(r);
	case 'L':
		r->at++;
		return skip_literal(r);
	case '_': /* the number among entities of the same name */
		r->at++;
		if (*r->at == '_')
			return r->at++, skip_to_underscore(r);
		return isdigit((unsigned char)*r->at++);
	case 'N':
	case 'I':
	case 'J':
	case 'F':
	case 'Z':
		r->at++;
		return skip_to_end(r);
	default:
		if (!islower((unsigned char)*r->at) && !strchr("MPROKVGB", *r->at))
			return false;
		r->at++;
		return true;
	}
}

static bool skip(struct reader *r)
{
	bool done;

	if (!*r->at || r->depth == DEPTH_MAX)
		return false;
	r->depth++;
	done = skip_token(r);
	r->depth--;
	return done;
}

/* ---- writing names ---- */

/* Rust writes characters that a name cannot have as $LT$ or $u7b$, and :: as two dots. */
static bool escape_put(struct reader *r, const char **at, const char *end)
{
	static const struct short_name escapes[] = {{"$LT$", "<"}, {"$GT$", ">"}, {"$RF$", "&"},
						    {"$BP$", "*"}, {"$LP$", "("}, {"$RP$", ")"},
						    {"$SP$", "@"}, {"$C$", ","},  {"..", "::"}};
	unsigned int code;
	int length = 0;
	char c;

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t bytes = strlen(escapes[i].code);

		if ((size_t)(end - *at) >= bytes && !memcmp(*at, escapes[i].code, bytes)) {
			*at += bytes;
			return put_text(r, escapes[i].name);
		}
	}
	if (**at == '$' && end - *at >= 5 && sscanf(*at, "$u%2x$%n", &code, &length) == 1 &&
	    length == 5 && code >= ' ' && code < 0x7f) {
		*at += length;
		c = (char)code;
		return put(r, &c, 1);
	}
	return put(r, (*at)++, 1);
}

static bool rust_put(struct reader *r, const char *name, size_t length)
{
	const char *end = name + length;

	if (length > 1 && name[0] == '_' && name[1] == '$') /* Rust puts '_' before a leading '$' */
		name++;
	while (name < end)
		if (!escape_put(r, &name, end))
			return false;
	return true;
}

static bool is_rust_hash(const char *name, size_t length)
{
	return length == RUST_HASH && name[0] == 'h' &&
	       strspn(name + 1, "0123456789abcdef") >= RUST_HASH - 1;
}

static bool source_put(struct reader *r)
{
	const char *name;
	size_t length;

	if (!source_take(r, &name, &length))
		return false;
	if (!strncmp(name, "_GLOBAL__N_", 11))
		return put_text(r, "(anonymous namespace)");
	r->last = name;
	r->last_length = length;
	if (memchr(name, '$', length) || memchr(name, '.', length))
		return rust_put(r, name, length);
	return put(r, name, length);
}

static bool constructor_put(struct reader *r)
{
	if (!r->last || r->at[1] < '0' || r->at[1] > '5' || (*r->at == 'D' && !put_text(r, "~")))
		return false;
	r->at += 2;
	return put(r, r->last, r->last_length);
}

static bool short_put(struct reader *r, const struct short_name *list, size_t count,
		      const char *before)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(r->at, list[i].code, 2) != 0)
			continue;
		r->at += 2;
		return put_text(r, before) && put_text(r, list[i].name);
	}
	return false;
}

static bool unnamed_put(struct reader *r)
{
	return put_text(r, r->at[1] == 'l' ? "{lambda}" : "{unnamed}") && skip_unnamed(r);
}

/* Writes a part of a nested name; skips its marks. */
static bool part_put(struct reader *r)
{
	bool done;

	take(r, 'L'); /* a mark: local to one file */
	if (isdigit((unsigned char)*r->at))
		done = source_put(r);
	else if (*r->at == 'C' || *r->at == 'D')
		done = constructor_put(r);
	else if (*r->at == 'U')
		done = unnamed_put(r);
	else if (!strncmp(r->at, "St", 2))
		done = put_text(r, "std") && (r->at += 2);
	else if (*r->at == 'S')
		done = short_put(r, standard, sizeof(standard) / sizeof(standard[0]), "");
	else
		done = short_put(r, operators, sizeof(operators) / sizeof(operators[0]),
				 "operator");
	while (done && take(r, 'B')) { /* a mark: the ABI tag */
		const char *tag;
		size_t length;

		done = source_take(r, &tag, &length);
	}
	return done;
}

static bool arguments_put(struct reader *r)
{
	return !take(r, 'I') || (skip_to_end(r) && put_text(r, "<...>"));
}

static bool nested_put(struct reader *r)
{
	const char *last = NULL;
	size_t before = 0;

	r->at += strspn(r->at, "rVK");
	r->at += strspn(r->at, "RO");
	for (size_t parts = 0; *r->at != 'E'; parts++) {
		before = r->used;
		last = r->at;
		if ((parts && !put_text(r, "::")) || !part_put(r) || !arguments_put(r))
			return false;
	}
	if (last && before && is_rust_hash(r->last, r->last_length) &&
	    r->last + r->last_length == r->at) {
		r->used = before;
		r->out[before] = '\0';
	}
	r->at++;
	return last != NULL;
}

static bool name_put(struct reader *r)
{
	if (take(r, 'N'))
		return nested_put(r);
	if (!strncmp(r->at, "St", 2) && (!part_put(r) || !put_text(r, "::")))
		return false;
	return part_put(r) && arguments_put(r);
}

/* Writes a function, or an entity inside of a function. */
static bool function_put(struct reader *r)
{
	bool done;

	if (r->depth == DEPTH_MAX)
		return false;
	if (!take(r, 'Z'))
		return name_put(r);
	r->depth++;
	done = function_put(r) && skip_to_end(r) && put_text(r, "::") && name_put(r);
	r->depth--;
	return done;
}

bool symbol_name_plain(const char *symbol, char *plain, size_t room)
{
	struct reader r = {.at = symbol, .out = plain, .room = room};

	if (!room || strncmp(symbol, "_Z", 2) != 0)
		return false;
	r.at += 2;
	if (!function_put(&r))
		return false;
	while (*r.at && *r.at != '.' && *r.at != '@')
		if (!skip(&r))
			return false;
	/* keep a suffix of the compiler: .part.0 */
	return put(&r, r.at, strcspn(r.at, "@"));
}
