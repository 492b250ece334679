"""Where runs happen: on the threads of this machine, or on a Dask cluster."""
