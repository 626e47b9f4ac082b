"""Where CUDA is built and run: `cpu`, `gpu` and `replay`, behind one protocol."""
