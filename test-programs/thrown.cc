// SPDX-License-Identifier: Apache-2.0
/*
 * usage: thrown N LOG
 *
 * Waits for a line on stdin, throws N times and logs each throw, also of what is thrown again:
 *
 *     {"type": "std::bad_cast", "message": "std::bad_cast", "function": "throw_cast", "again": false}
 *
 * The type is as abi::__cxa_demangle() has it, the message what what() returns; null: the exception
 * has none, or one that cannot be known without a call. Says "done", and waits for the end of stdin.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <typeinfo>
#include <vector>

#include "thrown.h"

#ifdef __clang__
#define AS_IT_IS __attribute__((noinline))
#else
#define AS_IT_IS __attribute__((noipa))
#endif

static FILE *log_file;

namespace
{

struct Inner : std::runtime_error {
	using runtime_error::runtime_error;
	long more[4] = { 1, 2, 3, 4 };
};

struct Deeper final : Inner {
	using Inner::Inner;
	std::string name = "deeper";
};

struct Own : std::runtime_error {
	using runtime_error::runtime_error;
	const char *what() const noexcept override
	{
		return "own";
	}
};

struct Plain {
	int value;
};

enum class Colour { red };

} // namespace

namespace shop
{

struct Counted {
	virtual ~Counted() = default;
	long n = 1;
};

struct Several : std::out_of_range, Counted {
	using out_of_range::out_of_range;
};

struct Virtual : virtual std::runtime_error {
	explicit Virtual(const std::string &text) : runtime_error(text)
	{
	}
};

/* The standard class is not where the object begins. */
struct Behind : Counted, std::logic_error {
	using logic_error::logic_error;
};

struct Bare : std::exception {
};

template <typename T> struct Wrapped : std::domain_error {
	explicit Wrapped(const std::string &text) : domain_error(text)
	{
	}
	T value{};
};

struct Base {
	virtual ~Base() = default;
};

struct Derived : Base {
};

} // namespace shop

static std::string text_of(const char *word, unsigned long i)
{
	return std::string(word) + " " + std::to_string(i);
}

AS_IT_IS static void throw_runtime(unsigned long i)
{
	throw std::runtime_error(text_of("error", i));
}

AS_IT_IS static void throw_long(unsigned long i)
{
	throw std::logic_error(text_of("long", i) + std::string(250 + i % 7, 'x'));
}

AS_IT_IS static void throw_empty(unsigned long)
{
	throw std::length_error("");
}

AS_IT_IS static void throw_inner(unsigned long i)
{
	throw Inner(text_of("inner", i));
}

AS_IT_IS static void throw_deeper(unsigned long i)
{
	throw Deeper(text_of("deeper \"quoted\" \\ \n", i));
}

AS_IT_IS static void throw_several(unsigned long i)
{
	throw shop::Several(text_of("several", i));
}

AS_IT_IS static void throw_virtual(unsigned long i)
{
	throw shop::Virtual(text_of("virtual", i));
}

AS_IT_IS static void throw_behind(unsigned long i)
{
	throw shop::Behind(text_of("behind", i));
}

AS_IT_IS static void throw_own(unsigned long i)
{
	throw Own(text_of("never seen", i));
}

AS_IT_IS static void throw_bare(unsigned long)
{
	throw shop::Bare();
}

AS_IT_IS static void throw_exception(unsigned long)
{
	throw std::exception();
}

AS_IT_IS static void throw_wrapped(unsigned long i)
{
	throw shop::Wrapped<std::vector<std::string>>(text_of("wrapped", i));
}

AS_IT_IS static void throw_local(unsigned long i)
{
	struct Local : std::invalid_argument {
		using invalid_argument::invalid_argument;
	};

	throw Local(text_of("local", i));
}

AS_IT_IS static void throw_int(unsigned long)
{
	throw 42;
}

AS_IT_IS static void throw_text(unsigned long)
{
	throw "a text";
}

AS_IT_IS static void throw_string(unsigned long i)
{
	throw text_of("string", i);
}

AS_IT_IS static void throw_plain(unsigned long i)
{
	throw Plain{ (int)i };
}

AS_IT_IS static void throw_colour(unsigned long)
{
	throw Colour::red;
}

AS_IT_IS static void throw_pointer(unsigned long)
{
	static std::runtime_error error("behind a pointer");

	throw &error;
}

AS_IT_IS static void throw_alloc(unsigned long)
{
	throw std::bad_alloc();
}

/* What the library itself throws. */
AS_IT_IS static void throw_range(unsigned long i)
{
	std::vector<int> none(i % 3);

	(void)none.at(i % 3 + 5);
}

AS_IT_IS static void throw_stoi(unsigned long)
{
	(void)std::stoi("x");
}

AS_IT_IS static void throw_function(unsigned long)
{
	std::function<void()> none;

	none();
}

AS_IT_IS static void throw_weak(unsigned long)
{
	std::weak_ptr<int> none;

	std::shared_ptr<int> pointer(none);
}

AS_IT_IS static void throw_cast(unsigned long)
{
	shop::Base base;
	volatile bool is_used;

	is_used = &dynamic_cast<shop::Derived &>(base) != nullptr;
	(void)is_used;
}

AS_IT_IS static void throw_typeid(unsigned long)
{
	shop::Base *volatile none = nullptr;
	shop::Base *base = none;

	std::puts(typeid(*base).name());
}

AS_IT_IS static void throw_size(unsigned long)
{
	volatile long size = -1;
	volatile int *numbers = new int[size];

	numbers[0] = 1;
	delete[] numbers;
}

AS_IT_IS static void throw_stream(unsigned long)
{
	std::ifstream stream;

	stream.exceptions(std::ios::failbit);
	stream.open("/nonexistent/of/thrown");
}

AS_IT_IS static void throw_future(unsigned long)
{
	std::promise<int> promise;

	(void)promise.get_future();
	(void)promise.get_future();
}

AS_IT_IS static void throw_system(unsigned long i)
{
	throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory),
				text_of("system", i));
}

AS_IT_IS static void throw_regex(unsigned long)
{
	throw std::regex_error(std::regex_constants::error_paren);
}

AS_IT_IS static void throw_file(unsigned long)
{
	throw std::filesystem::filesystem_error("file", std::make_error_code(std::errc::io_error));
}

AS_IT_IS static void throw_optional(unsigned long)
{
	std::optional<int> none;

	(void)none.value();
}

static void put_text(const char *text)
{
	std::fputc('"', log_file);
	for (; *text; text++) {
		if ((unsigned char)*text < ' ')
			std::fprintf(log_file, "\\u%04x", *text);
		else if (*text == '"' || *text == '\\')
			std::fprintf(log_file, "\\%c", *text);
		else
			std::fputc(*text, log_file);
	}
	std::fputc('"', log_file);
}

static void log_throw(const char *what, const char *function, bool again)
{
	const std::type_info *type = abi::__cxa_current_exception_type();
	int status;
	char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);

	std::fputs("{\"type\": ", log_file);
	put_text(status == 0 ? name : type->name());
	std::fputs(", \"message\": ", log_file);
	if (what)
		put_text(what);
	else
		std::fputs("null", log_file);
	std::fprintf(log_file, ", \"function\": \"%s\", \"again\": %s}\n", function,
		     again ? "true" : "false");
	std::free(name);
}

struct Case {
	void (*fn)(unsigned long);
	const char *function;
	bool has_message; /* of the standard library, outside of what the program inlines */
};

#define CASE(name, has_message)                                                                    \
	{                                                                                          \
		name, #name, has_message                                                           \
	}

static const Case cases[] = {
	CASE(throw_runtime, true),  CASE(throw_long, true),      CASE(throw_empty, true),
	CASE(throw_inner, true),    CASE(throw_deeper, true),    CASE(throw_several, true),
	CASE(throw_virtual, false), CASE(throw_behind, false),   CASE(throw_own, false),
	CASE(throw_bare, true),     CASE(throw_exception, true), CASE(throw_wrapped, true),
	CASE(throw_local, true),    CASE(throw_int, false),      CASE(throw_text, false),
	CASE(throw_string, false),  CASE(throw_plain, false),    CASE(throw_colour, false),
	CASE(throw_pointer, false), CASE(throw_alloc, true),     CASE(throw_range, true),
	CASE(throw_stoi, true),     CASE(throw_function, true),  CASE(throw_weak, true),
	CASE(throw_cast, true),     CASE(throw_typeid, true),    CASE(throw_size, true),
	CASE(throw_stream, true),   CASE(throw_future, true),    CASE(throw_system, true),
	CASE(throw_regex, true),    CASE(throw_file, false),     CASE(throw_optional, false),
};

static const Case *current;

/* The exception that is being handled. */
static void log_current(const std::exception *e)
{
	log_throw(e && current->has_message ? e->what() : nullptr, current->function, false);
}

AS_IT_IS static void pass_on(unsigned long i)
{
	pass_second(current->fn, i);
}

/* Throws again what it has caught. */
AS_IT_IS static void throw_again(unsigned long i)
{
	try {
		pass_second(current->fn, i);
	} catch (const std::exception &e) {
		log_current(&e);
		log_throw(current->has_message ? e.what() : nullptr, "throw_again", true);
		throw;
	} catch (...) {
		log_current(nullptr);
		log_throw(nullptr, "throw_again", true);
		throw;
	}
}

/* Throws another one, which has the first within. */
AS_IT_IS static void throw_nested(unsigned long i)
{
	try {
		pass_second(throw_runtime, i);
	} catch (const std::exception &e) {
		log_throw(e.what(), "throw_runtime", false);
		std::throw_with_nested(std::range_error(text_of("nested", i)));
	}
}

/* Throws again what it has kept. */
AS_IT_IS static void throw_held(unsigned long i)
{
	std::exception_ptr held;

	try {
		pass_second(current->fn, i);
	} catch (const std::exception &e) {
		log_current(&e);
		log_throw(current->has_message ? e.what() : nullptr, "throw_held", true);
		held = std::current_exception();
	} catch (...) {
		log_current(nullptr);
		log_throw(nullptr, "throw_held", true);
		held = std::current_exception();
	}
	std::rethrow_exception(held);
}

/* Throws again what was thrown again. */
AS_IT_IS static void throw_twice(unsigned long i)
{
	try {
		throw_held(i);
	} catch (const std::exception &e) {
		log_throw(current->has_message ? e.what() : nullptr, "throw_twice", true);
		throw;
	} catch (...) {
		log_throw(nullptr, "throw_twice", true);
		throw;
	}
}

static void call_one(unsigned long i)
{
	try {
		pass_first(pass_on, i);
	} catch (const std::exception &e) {
		log_current(&e);
	} catch (...) {
		log_current(nullptr);
	}
}

static void call_again(unsigned long i, void (*again)(unsigned long))
{
	try {
		pass_first(again, i);
	} catch (...) {
	}
}

static void call_nested(unsigned long i)
{
	try {
		pass_first(throw_nested, i);
	} catch (const std::exception &e) {
		log_throw(e.what(), "throw_nested", false);
	}
}

/* Returns how often it has thrown. */
static unsigned long call(unsigned long i)
{
	current = &cases[i % (sizeof(cases) / sizeof(*cases))];
	switch (i % 5) {
	case 1:
		call_again(i, throw_twice);
		return 3;
	case 2:
		call_again(i, throw_held);
		return 2;
	case 3:
		call_again(i, throw_again);
		return 2;
	case 4:
		call_nested(i);
		return 2;
	default:
		call_one(i);
		return 1;
	}
}

int main(int argc, char **argv)
{
	log_file = argc == 3 ? std::fopen(argv[2], "w") : nullptr;
	if (!log_file) {
		std::fputs("usage: thrown N LOG\n", stderr);
		return 2;
	}
	if (std::getchar() == EOF)
		return 1;
	for (unsigned long i = 0, n = 0; n < std::strtoul(argv[1], nullptr, 10); i++)
		n += call(i);
	if (std::fclose(log_file) != 0)
		return 1;
	std::puts("done");
	std::fflush(stdout);
	while (std::getchar() != EOF)
		continue;
	return 0;
}
