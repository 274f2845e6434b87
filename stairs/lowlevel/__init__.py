"""Raw memory for kernels: addresses of arrays, loads and stores without checks, prefetching, the clock.

May import: `stairs.kernel`.
"""
