/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is looked at now and then: its mean and its high values. */
#include "guest.h"

#include <stdlib.h>

void mean_add(struct mean *mean, uint64_t value)
{
	mean->sum += (double)value;
	mean->values[mean->count++] = (uint32_t)value;
	if (value > mean->most)
		mean->most = value;
}

double mean_get(const struct mean *mean)
{
	return mean->count ? mean->sum / (double)mean->count : 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

uint32_t mean_high(struct mean *mean)
{
	if (!mean->count)
		return 0;
	qsort(mean->values, mean->count, sizeof *mean->values, compare);
	return mean->values[(mean->count - 1) * 95 / 100];
}
