// SPDX-License-Identifier: GPL-2.0-or-later
/* The type that a function of the C++ library allocates: names as compilers write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/retain/classes.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define TREE                                                                                       \
	"std::_Rb_tree<int, std::pair<int const, app::Foo>, std::_Select1st<std::pair<int "        \
	"const, app::Foo> >, std::less<int>, std::allocator<std::pair<int const, app::Foo> > >"

static const struct {
	const char *function, *always, *with_inlines;
} names[] = {
	/* g++ 12 and clang++ 14 with libstdc++ 12, -O0, or -O2 -g as inlined frames */
	{"std::__new_allocator<app::Foo>::allocate(unsigned long, void const*)", "app::Foo",
	 "app::Foo"},
	{"std::__new_allocator<app::Foo*>::allocate(unsigned long, void const*)", "app::Foo*",
	 "app::Foo*"},
	{"std::__new_allocator<std::_Rb_tree_node<std::pair<int const, app::Foo> > >::allocate("
	 "unsigned long, void const*)",
	 "std::_Rb_tree_node<std::pair<int const, app::Foo> >",
	 "std::_Rb_tree_node<std::pair<int const, app::Foo> >"},
	{"std::__new_allocator<std::__detail::_Hash_node<std::pair<" STRING
	 " const, app::Foo>, true> >::allocate(unsigned long, void const*)",
	 "std::__detail::_Hash_node<std::pair<" STRING " const, app::Foo>, true>",
	 "std::__detail::_Hash_node<std::pair<" STRING " const, app::Foo>, true>"},
	{"std::__new_allocator<std::function<void ()> >::allocate(unsigned long, void const*)",
	 "std::function<void ()>", "std::function<void ()>"},
	{"std::__new_allocator<one(int)::{lambda(int, char)#1}>::allocate(unsigned long, void "
	 "const*)",
	 "one(int)::{lambda(int, char)#1}", "one(int)::{lambda(int, char)#1}"},
	{"std::allocator_traits<std::allocator<app::Foo> >::allocate(std::allocator<app::Foo>&, "
	 "unsigned long)",
	 "app::Foo", "app::Foo"},
	{"std::allocator_traits<std::allocator<app::Pair<int> > >::allocate("
	 "std::allocator<app::Pair<int> >&, unsigned long)",
	 "app::Pair<int>", "app::Pair<int>"},
	/* libstdc++ 11 and before; libc++ */
	{"__gnu_cxx::new_allocator<app::Foo>::allocate(unsigned long, void const*)", "app::Foo",
	 "app::Foo"},
	{"std::__1::allocator<app::Foo>::allocate[abi:v160006](unsigned long)", "app::Foo",
	 "app::Foo"},
	/* -O1: no longer inlined */
	{"std::_Vector_base<app::Foo, std::allocator<app::Foo> >::_M_allocate(unsigned long)",
	 "app::Foo", "app::Foo"},
	{"std::_Deque_base<app::Foo, std::allocator<app::Foo> >::_M_allocate_node()", "app::Foo",
	 "app::Foo"},
	{"std::__cxx11::_List_base<app::Pair<int>, std::allocator<app::Pair<int> > "
	 ">::_M_get_node()",
	 "std::_List_node<app::Pair<int> >", "std::_List_node<app::Pair<int> >"},
	{"std::__cxx11::_List_base<int, std::allocator<int> >::_M_get_node()",
	 "std::_List_node<int>", "std::_List_node<int>"},
	/* -O2: as in libraries, and without a possible constructor */
	{STRING "::_M_create(unsigned long&, unsigned long)", "char", "char"},
	{STRING "::_M_construct(unsigned long, char)", "char", "char"},
	{STRING "::_M_mutate(unsigned long, unsigned long, char const*, unsigned long)", "char",
	 "char"},
	{"std::vector<app::Foo*, std::allocator<app::Foo*> >::_M_realloc_insert<app::Foo*>("
	 "__gnu_cxx::__normal_iterator<app::Foo**, std::vector<app::Foo*, "
	 "std::allocator<app::Foo*> > >, app::Foo*&&)",
	 "app::Foo*", "app::Foo*"},
	{"std::vector<unsigned char, std::allocator<unsigned char> >::_M_default_append(unsigned "
	 "long)",
	 "unsigned char", "unsigned char"},
	/* These run constructors, which may be inlined and allocate by themselves. */
	{"std::vector<app::Foo, std::allocator<app::Foo> >::_M_realloc_insert<app::Foo>("
	 "__gnu_cxx::__normal_iterator<app::Foo*, std::vector<app::Foo, std::allocator<app::Foo> "
	 "> >, app::Foo&&)",
	 NULL, NULL},
	{"std::make_unique<app::Foo>()", NULL, "app::Foo"},
	{"std::make_unique<app::Foo, int, " STRING ">(int&&, " STRING "&&)", NULL, "app::Foo"},
	{"std::make_unique<app::Foo []>(unsigned long)", NULL, "app::Foo []"},
	{TREE "::_M_emplace_hint_unique<int>(int&&)", NULL, NULL},
	/* Functions of others, and other functions of the library. */
	{"one(int)", NULL, NULL},
	{"app::allocator<app::Foo>::allocate(unsigned long)", NULL, NULL},
	{"std::allocator<app::Foo>::allocate_more(unsigned long)", NULL, NULL},
	{"std::__new_allocator<app::Foo>::deallocate(app::Foo*, unsigned long)", NULL, NULL},
	{"std::pmr::monotonic_buffer_resource::do_allocate(unsigned long, unsigned long)", NULL,
	 NULL},
	{"std::allocator_traits<std::pmr::polymorphic_allocator<app::Foo> >::allocate(unsigned "
	 "long)",
	 NULL, NULL},
	/* Brackets that do not match, or do not end: nothing is guessed. */
	{"std::__new_allocator<app::Foo<&app::operator< > >::allocate(unsigned long)", NULL, NULL},
	{"std::__new_allocator<app::Foo", NULL, NULL},
	{"std::__new_allocator<app::Foo(>::allocate(unsigned long)", NULL, NULL},
	{"std::__new_allocator<app::Foo}>::allocate(unsigned long)", NULL, NULL},
	{"std::__new_allocator<>::allocate(unsigned long)", NULL, NULL},
	{"std::__new_allocator< >::allocate(unsigned long)", NULL, NULL},
	{"std::__new_allocator<app::Foo>::allocate", NULL, NULL},
	{"std::__new_allocator<app::Foo,", NULL, NULL},
	{"", NULL, NULL},
};

static void expect(const char *function, bool inlines_known, const char *expected)
{
	_cleanup_free_ char *type = template_type(function, inlines_known);

	if (!expected != !type || (type && strcmp(type, expected) != 0))
		fail_msg("%s: %s", function, type ? type : "nothing");
}

static void the_type_of_an_allocation_is_what_cannot_be_otherwise(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect(names[i].function, false, names[i].always);
		expect(names[i].function, true, names[i].with_inlines);
	}
}

static void add_frame(struct frames *frames, const char *function, bool inlined, const char *file)
{
	struct frame *frame = vec_push(&frames->list);

	*frame = (struct frame){.function = function, .inlined = inlined, .file = file};
}

#define MAX_FRAMES 4
/* Frames from the allocator's caller on; 'i' before a name: inlined, 'l': with a line. */
static const struct {
	const char *frames[MAX_FRAMES];
	const char *type;
} stacks[] = {
	{{" operator new(unsigned long)", " std::__new_allocator<Foo>::allocate(int)"}, "Foo"},
	{{" std::__new_allocator<Foo>::allocate(int)"}, "Foo"},
	{{" operator new(unsigned long)", " std::make_unique<Foo>()"}, NULL},
	{{" operator new(unsigned long)", "istd::make_unique<Foo>()", "lmain"}, "Foo"},
	{{" operator new[](unsigned long)", "lstd::make_unique<Foo []>(int)"}, "Foo []"},
	/* Foo's constructor allocated it. */
	{{" operator new(unsigned long)", "iFoo::Foo()", "istd::make_unique<Foo>()"}, NULL},
	/* Nor is it known what an intermediate container allocated. */
	{{" operator new(unsigned long)", " std::_Rb_tree<Foo>::_M_copy(int)",
	  "istd::make_unique<std::map<Foo> >()"},
	 NULL},
	{{" operator new(unsigned long)", NULL}, NULL},
	{{" std::__1::__libcpp_operator_new<unsigned long>(unsigned long)",
	  " std::__1::allocator<Foo>::allocate(unsigned long)"},
	 "Foo"},
	{{NULL}, NULL},
};

static void only_the_caller_of_operator_new_is_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		struct frames frames = {0};
		char *type;

		for (size_t j = 0; j < MAX_FRAMES && stacks[i].frames[j]; j++)
			add_frame(&frames, stacks[i].frames[j] + 1, stacks[i].frames[j][0] == 'i',
				  stacks[i].frames[j][0] == 'l' ? "a.cc" : NULL);
		if (!frames.list.count)
			add_frame(&frames, NULL, false, NULL);
		type = template_type_of_frames(&frames);
		if (!stacks[i].type != !type || (type && strcmp(type, stacks[i].type) != 0))
			fail_msg("stack %zu: %s", i, type ? type : "nothing");
		free(type);
		vec_free(&frames.list);
	}
}

static void a_type_without_end_is_none(void **state)
{
	char *name = malloc(20000);

	(void)state;
	strcpy(name, "std::__new_allocator<");
	memset(name + strlen(name), 'x', 2000);
	strcpy(name + 21 + 2000, ">::allocate(int)");
	expect(name, true, NULL);
	memset(name + 21, '<', 19000);
	name[19021] = '\0';
	expect(name, true, NULL);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_type_of_an_allocation_is_what_cannot_be_otherwise),
		cmocka_unit_test(only_the_caller_of_operator_new_is_asked),
		cmocka_unit_test(a_type_without_end_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
