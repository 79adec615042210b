"""The native engine: small programs as tapes of kernels in C++, made in a millisecond."""
