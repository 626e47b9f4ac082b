"""Standard headers that nvcc need not read for a source: pure.

`cuda_runtime.h` includes `<cmath>`, and in C++17 libstdc++'s `<cmath>` includes the special functions of mathematics (Bessel, Legendre, zeta, ...) with the templates
that compute them. nvcc reads all that three times over, a third of what it takes for a short kernel, for functions that CUDA sources do not call. So
they are left out where the text shows that nothing of them is meant, and a build that fails for lack of something is made again with everything.
"""

import re
from typing import Final

LEFT_OUT: Final = "-D_GLIBCXX_BITS_SPECFUN_H=1"
"""The include guard of libstdc++'s header, as if it had been read; other libraries do not know it."""
_SPECIAL: Final = (
    "(?:assoc_)?(?:laguerre|legendre)[fl]?|beta[fl]?|(?:comp_)?ellint_[123][fl]?|cyl_(?:bessel_[ijk]|neumann)[fl]?|expint[fl]?|hermite[fl]?|"
    "riemann_zeta[fl]?|sph_(?:bessel|legendre|neumann)[fl]?"
)
_BROUGHT_ALONG: Final = (
    "advance|(?:back_|front_)?insert(?:er|_iterator)|copy|copy_backward|copy_n|distance|equal|fill|fill_n|float_(?:denorm|round)_style|"
    "(?:input|output|forward|bidirectional|random_access)_iterator_tag|is_permutation|iter_swap|iterator|iterator_traits|lexicographical_compare|"
    "lower_bound|make_(?:move|reverse)_iterator|max|min|mismatch|move_backward|move_iterator|next|numeric_limits|pointer_traits|prev|reverse_iterator|"
    "swap_ranges"
)
"""What the header includes besides: `<limits>`, and iterators and algorithms that `<algorithm>` and the containers bring too."""
_STD: Final = r"\bstd\s*::\s*"
_MEANS_IT: Final = re.compile(
    rf"{_STD}(?:{_SPECIAL})\b|\btr1\b|\b_GLIBCXX_|\b__STDCPP_|\b__cpp_lib_|\bnamespace\s+(?:\w+\s*=\s*)?(?:::\s*)?std\b"
)
"""A special function, a question whether there are any, or the whole namespace."""
_USES_IT: Final = re.compile(rf"{_STD}(?:{_BROUGHT_ALONG})\b")
_LIBRARY: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(?!c[a-z0-9]+>)[a-z_]+>", re.MULTILINE)
"""A header of the C++ library that is more than C's."""
_ERROR: Final = re.compile(
    r"^(?P<file>[^\s():]+)(?:\(\d+\)|:\d+(?::\d+)?): (?:fatal |catastrophic )?error\b.*$", re.MULTILINE
)
_NOT_IN_STD: Final = re.compile(
    r'namespace "std" has no member|is not a member of .std\b|no template named .* in namespace "std"'
)
_MISSING: Final = re.compile(
    r"has no member|is undefined|not declared|not a member|no template named|incomplete type|not a (?:class )?template|does not name a type"
)


def left_out(text: str) -> tuple[str, ...]:
    """Options that spare nvcc headers this source does without; none where it might mean them."""
    if _MEANS_IT.search(text) or (_USES_IT.search(text) and not _LIBRARY.search(text)):
        return ()
    return (LEFT_OUT,)


def may_be_missing(said: str, own_file: str) -> bool:
    """Whether what nvcc said of a failure could come from what was left out: something missing in `std`, or in someone else's header."""
    return any(
        (_MISSING if match["file"] != own_file else _NOT_IN_STD).search(match[0]) for match in _ERROR.finditer(said)
    )
