"""Random scenarios, in the simulator and on Linux in virtual time: `make differential`."""
