"""The network, its losses, natural gradient and RBM: arrays in, arrays out; no files, no MPI."""
