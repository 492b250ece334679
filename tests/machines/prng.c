/* bcryptprimitives.dll for Wine before 9, which lacks it: Rust's standard library takes its random numbers from there. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes)
{
	return RtlGenRandom(data, (ULONG)bytes);
}
