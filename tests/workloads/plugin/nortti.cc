// SPDX-License-Identifier: GPL-2.0-or-later
/* Compiled with -fno-rtti: its vtables name no class, only their symbols do. */
#include <cstdint>
#include <cstdlib>

namespace plain
{
struct Untyped {
	virtual ~Untyped();
	virtual int run();
	uint64_t value = 1;
};
struct Derived : Untyped {
	int run() override;
	uint64_t more = 2;
};
Untyped::~Untyped() = default;
int Untyped::run()
{
	return 1;
}
int Derived::run()
{
	return 2;
}
} // namespace plain

plain::Untyped *nortti_held;

extern "C" void nortti_make()
{
	nortti_held = new plain::Derived;
	for (int i = 0; i < 3; i++) {
		plain::Untyped *lost = new plain::Untyped;

		__asm__ volatile("" : : "r"(lost) : "memory");
	}
}
