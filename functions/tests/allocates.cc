// SPDX-License-Identifier: Apache-2.0
/*
 * An allocator whose operator new goes on elsewhere, without a call: in another function, which may throw; in another
 * operator; and with -DELSEWHERE, in another file.
 */
#include <new>

namespace
{
char memory[1 << 16];
std::size_t used;

__attribute__((noinline)) void *slow(std::size_t size)
{
	if (size > sizeof(memory))
		throw std::bad_alloc();
	used = size;
	return memory;
}
} // namespace

extern "C" {
void *mallocx(std::size_t size, int flags);
void *elsewhere(std::size_t size);

void *mallocx(std::size_t size, int flags)
{
	return flags ? nullptr : slow(size);
}
}

void *operator new(std::size_t size)
{
	used += size;
	if (used <= sizeof(memory))
		return memory + used - size;
#ifdef ELSEWHERE
	return elsewhere(size);
#else
	return slow(size);
#endif
}

void *operator new[](std::size_t size)
{
	return operator new(size);
}

void *operator new(std::size_t size, int &place)
{
	return size > sizeof(place) ? nullptr : &place;
}

void operator delete(void *) noexcept
{
}

void operator delete(void *, std::size_t) noexcept
{
}
