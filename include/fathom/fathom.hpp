/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfathom for C++17: a span that ends with its scope.
 *
 *	void handle(request &r)
 *	{
 *		fathom::span span("handle");
 *		span.set("bytes", r.size());
 *		...
 *	}
 *
 * A span whose scope is left by an exception ends with the status FATHOM_FAILED, unless
 * a status was set. Nothing here throws or allocates. The rules of fathom.h for
 * threads and signal handlers apply: one thread at a time may end a span, move it
 * or set its status. A string_view need not end in NUL; keys and messages must.
 */
#ifndef FATHOM_FATHOM_HPP
#define FATHOM_FATHOM_HPP

#include <exception>
#include <string_view>
#include <type_traits>

#include <fathom/fathom.h>

namespace fathom
{

class span
{
      public:
	/* Begins a child of the active span, or a root. It is active until it ends. */
	explicit span(std::string_view name, fathom_kind kind = FATHOM_INTERNAL,
		      fathom_level level = FATHOM_INFO) noexcept
	{
		open(name, kind, level, nullptr, nullptr);
	}

	/* Begins a child of a span that may have ended. If it was moved away, begins a root. */
	span(const span &parent, std::string_view name, fathom_kind kind = FATHOM_INTERNAL) noexcept
	{
		open(name, kind, FATHOM_INFO, &parent.span_, nullptr);
	}

	/* Begins a child of a span in another process, as extracted from a request. */
	span(const fathom_context &remote, std::string_view name,
	     fathom_kind kind = FATHOM_SERVER) noexcept
	{
		open(name, kind, FATHOM_INFO, nullptr, &remote);
	}

	span(span &&other) noexcept
	    : span_(other.span_), exceptions_(other.exceptions_), has_status_(other.has_status_)
	{
		other.span_ = fathom_span{};
	}

	span &operator=(span &&other) noexcept
	{
		if (this != &other) {
			end();
			span_ = other.span_;
			exceptions_ = other.exceptions_;
			has_status_ = other.has_status_;
			other.span_ = fathom_span{};
		}
		return *this;
	}

	span(const span &) = delete;
	span &operator=(const span &) = delete;

	~span()
	{
		end();
	}

	/* Ends the span now. Does nothing if it has ended or was moved away. */
	void end() noexcept
	{
		if (!has_status_ && std::uncaught_exceptions() > exceptions_)
			fathom_span_status(&span_, FATHOM_FAILED);
		fathom_span_end(&span_);
	}

	/* Ends the span with a status and a message, which ends in NUL and may be null. */
	void end(fathom_status status, const char *message) noexcept
	{
		fathom_span_end_status(&span_, status, message);
	}

	/* Sets the status for the end of the span, also if an exception ends it. */
	void status(fathom_status status) noexcept
	{
		has_status_ = true;
		fathom_span_status(&span_, status);
	}

	/*
	 * Sets an attribute: bool, integers and enums (beyond int64_t they wrap), floating point,
	 * or anything that converts to string_view, but not a null pointer. Keys end in NUL.
	 */
	template <typename T> void set(const char *key, const T &value) const noexcept
	{
		fathom_attribute a = attribute(key, value);
		if (a.type == FATHOM_STRING && a.bytes == 0)
			a.value.string = "";
		fathom_span_attributes(&span_, &a, 1);
	}

	/* Adds an event, at the current time. */
	void event(const char *name, fathom_level level = FATHOM_INFO) const noexcept
	{
		fathom_span_event(&span_, level, name);
	}

	/* The address of this side, and of the other side (peer). */
	void endpoint(const fathom_endpoint &endpoint) const noexcept
	{
		fathom_span_endpoint(&span_, &endpoint);
	}

	void peer(const fathom_endpoint &endpoint) const noexcept
	{
		fathom_span_peer(&span_, &endpoint);
	}

	/* The context of the span, for inject. */
	fathom_context context() const noexcept
	{
		return fathom_span_context(&span_);
	}

	/* The span as the C functions take it, for fathom_span_attach() and others. */
	const fathom_span *get() const noexcept
	{
		return &span_;
	}

      private:
	void open(std::string_view name, fathom_kind kind, fathom_level level,
		  const fathom_span *parent, const fathom_context *remote) noexcept
	{
		fathom_span_options options{};
		options.name = name.empty() ? "" : name.data();
		options.name_bytes = name.size();
		options.kind = kind;
		options.level = level;
		options.parent = parent;
		options.remote = remote;
		span_ = fathom_span_open(&options);
	}

	template <typename T>
	static fathom_attribute attribute(const char *key, const T &value) noexcept
	{
		fathom_attribute a{};
		a.key = key;
		if constexpr (std::is_same_v<T, bool>) {
			a.type = FATHOM_BOOLEAN;
			a.value.boolean = value;
		} else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
			a.type = FATHOM_INTEGER;
			a.value.integer = static_cast<int64_t>(value);
		} else if constexpr (std::is_floating_point_v<T>) {
			a.type = FATHOM_REAL;
			a.value.real = static_cast<double>(value);
		} else {
			const std::string_view text(value);
			a.type = FATHOM_STRING;
			a.value.string = text.data();
			a.bytes = text.size();
		}
		return a;
	}

	fathom_span span_{};
	int exceptions_ = std::uncaught_exceptions();
	bool has_status_ = false;
};

/*
 * Makes a span the active span of this thread for a scope: in a thread pool, or a callback.
 * It has a copy of the handle, so the span may be moved or ended meanwhile.
 */
class attached
{
      public:
	explicit attached(const span &span) noexcept : attached(*span.get())
	{
	}
	explicit attached(const fathom_span &span) noexcept : span_(span)
	{
		fathom_span_attach(&span_);
	}
	~attached()
	{
		fathom_span_detach(&span_);
	}
	attached(const attached &) = delete;
	attached &operator=(const attached &) = delete;

      private:
	fathom_span span_;
};

} /* namespace fathom */

#endif
