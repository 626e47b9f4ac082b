"""Reading CUDA C++ without compiling it.

`mend` blanks what the grammar cannot parse, `tree` parses and says how well that went, `symbolic` is a small polynomial
algebra, `scope` knows what names mean inside a kernel, `accesses` finds memory accesses and their strides, `facts`
collects what is there, and `suspicions` marks what an expert would look at twice.
"""
