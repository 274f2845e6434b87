"""The fast path: kernels take a push of plain arrays in by themselves.

The tables that these kernels read, and the kernels. The long way, through intake and router, leads to the same state.

May import: values, intake, router.
"""
