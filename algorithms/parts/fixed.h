/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Integer roots and ratios without floating point.
 *
 * The roots find one binary digit of the result per step, as one does on paper. A step asks
 * "does the digit fit?" with a mask instead of a branch: the BPF verifier walks every path of
 * a program, and a branch in each of 32 steps would be 2^32 paths.
 */
#ifndef FIXED_H
#define FIXED_H

#include "cc.h"

/* All ones if a >= b, else zero. Both below 2^63. */
static inline u64 cc_mask_ge(u64 a, u64 b)
{
	return ((a - b) >> 63) - 1;
}

/* The smaller of two, without a branch. */
static inline u32 cc_min_masked(u32 a, u32 b)
{
	return (u32)(a ^ ((a ^ b) & cc_mask_ge(a, b)));
}

/* The place of the highest 1 in n, from 1; 0 for 0. */
static inline u32 cc_bits(u64 n)
{
	u32 bits = 0, half = 32, i;

	for (i = 0; i < 6; i++) {
		u32 step = half & (u32)cc_mask_ge(n >> half, 1);

		bits += step;
		n >>= step;
		half >>= 1;
	}
	return bits + (u32)n;
}

/* The square root of n, rounded down. */
static inline u32 cc_isqrt(u64 n)
{
	u64 root = 0, rest = 0;
	u32 i;

	for (i = 0; i < 32; i++) {
		/* (2 root + 1)^2 - (2 root)^2 */
		u64 step = 4 * root + 1, fits;

		rest = rest << 2 | n >> 62;
		n <<= 2;
		fits = cc_mask_ge(rest, step);
		rest -= step & fits;
		root = root << 1 | (fits & 1);
	}
	return (u32)root;
}

/* The cube root of n, rounded down. */
static inline u32 cc_icbrt(u64 n)
{
	u64 root = 0, rest = 0;
	u32 i;

	for (i = 0; i < 22; i++) {
		/* (2 root + 1)^3 - (2 root)^3 */
		u64 step = 6 * root * (2 * root + 1) + 1, fits;

		rest = rest << 3 | (n >> (63 - 3 * i) & 7);
		fits = cc_mask_ge(rest, step);
		rest -= step & fits;
		root = root << 1 | (fits & 1);
	}
	return (u32)root;
}

/*
 * value / divisor, rounded down, and exact over many calls: the rest of each division goes into the
 * next, unless that has a smaller divisor. So a growth that is less than a unit of fixed point per
 * ACK adds up all the same.
 */
static inline u64 cc_divide(u64 value, u32 divisor, u32 *rest)
{
	u64 quotient;

	value += *rest < divisor ? *rest : 0;
	quotient = value / divisor;
	*rest = (u32)(value - quotient * divisor);
	return quotient;
}

/* value * part / one, rounded down, for part <= one. */
static inline u32 cc_part(u32 value, u32 part, u32 one)
{
	return (u32)((u64)value * part / one);
}

#endif /* FIXED_H */
