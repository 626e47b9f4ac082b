"""What the `gpu` toolchain needs to know of devices, and whose turn it is on them."""
