/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What clang's -fsanitize=unsigned-integer-overflow calls, linked to native.c in place of its runtime: prints the source
 * line of each sum and each product that wraps. Other operations are not asked about.
 */
#include <stdio.h>
#include <string.h>

struct place {
	const char *file;
	unsigned line, column;
};

static void print(const struct place *at)
{
	const char *name = strrchr(at->file, '/');

	fprintf(stderr, "%s:%u\n", name ? name + 1 : at->file, at->line);
}

void __ubsan_handle_add_overflow(struct place *at, void *a, void *b)
{
	(void)a;
	(void)b;
	print(at);
}

void __ubsan_handle_mul_overflow(struct place *at, void *a, void *b)
{
	(void)a;
	(void)b;
	print(at);
}

void __ubsan_handle_sub_overflow(struct place *at, void *a, void *b)
{
	(void)at;
	(void)a;
	(void)b;
}

void __ubsan_handle_negate_overflow(struct place *at, void *a)
{
	(void)at;
	(void)a;
}
