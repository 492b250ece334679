"""Where runs happen: the threads of this machine, a Dask cluster."""
