/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is looked at now and then: its mean and its high values. */
#include "guest.h"

#include <stdlib.h>

void mean_add(struct mean *mean, uint64_t value, uint64_t weight)
{
	mean->sum += (double)value * (double)weight;
	mean->weight += weight;
	mean->looks[mean->count++] = (struct look){ (uint32_t)value, (uint32_t)weight };
	if (value > mean->most)
		mean->most = value;
}

double mean_get(const struct mean *mean)
{
	return mean->weight ? mean->sum / (double)mean->weight : 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t one = ((const struct look *)a)->value, other = ((const struct look *)b)->value;

	return (one > other) - (one < other);
}

uint32_t mean_high(struct mean *mean)
{
	uint64_t below = 0;
	size_t i;

	qsort(mean->looks, mean->count, sizeof *mean->looks, compare);
	for (i = 0; i < mean->count; i++) {
		below += mean->looks[i].weight;
		if (below * 100 >= mean->weight * 95 && below)
			return mean->looks[i].value;
	}
	return 0;
}
