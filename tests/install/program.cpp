/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ header, built outside the tree; with an exception on the way. */
#include <cstring>
#include <fathom/fathom.hpp>
#include <stdexcept>
#include <string>
#include <utility>

static bool is_active(const fathom::span &span)
{
	const fathom_span current = fathom_span_current();

	return std::memcmp(current.span_id, span.get()->span_id, 8) == 0;
}

int main()
{
	fathom_init("program");
	fathom::span root("root");
	try {
		fathom::span phase(std::string("phase"));
		phase.set("text", std::string_view("value"));
		phase.set("count", 3u);
		phase.set("ratio", 0.5);
		phase.set("done", true);
		phase.set("literal", "text");
		phase.event("here", FATHOM_NOTICE);
		if (!is_active(phase))
			return 1;
		throw std::runtime_error("out of it");
	} catch (const std::runtime_error &) {
		if (!is_active(root))
			return 2;
	}
	fathom::span other(root, "other");
	fathom::span moved(std::move(other));
	if (!is_active(moved))
		return 3;
	moved = fathom::span(root, "again");
	moved.end();
	moved.end();
	if (!is_active(root))
		return 4;
	{
		fathom::span queued(root.context(), "queued");
		fathom::attached here(queued);
		if (!is_active(queued))
			return 5;
	}
	return is_active(root) ? 0 : 6;
}
