/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Writes lambda_max = auto of each beta, both in thousandths: auto.rs knows what it is. */
#include <stdio.h>

#include "agile_sd.h"

int main(void)
{
	u32 beta;

	for (beta = 100; beta <= 999; beta++)
		printf("%u %u\n", beta, agile_sd_auto(beta));
	return 0;
}
