/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reads numbers, writes their square and cube roots: fixed.rs knows what they are. */
#include <stdio.h>

#include "parts/fixed.h"

int main(void)
{
	u64 n;

	while (scanf("%llu", &n) == 1)
		printf("%u %u\n", cc_isqrt(n), cc_icbrt(n));
	return 0;
}
