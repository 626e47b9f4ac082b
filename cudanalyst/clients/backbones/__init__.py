"""Reference induction: runs that lead a kernel through generations, and freeze each of them with its references."""
