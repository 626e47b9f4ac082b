"""The forms, by family."""

from tests.tools.engine.arithmetic.form import Form
from tests.tools.engine.arithmetic.forms.compare import compare_forms
from tests.tools.engine.arithmetic.forms.convert import convert_forms
from tests.tools.engine.arithmetic.forms.integer import integer_forms
from tests.tools.engine.arithmetic.forms.real import approximate_forms, real_forms
from tests.tools.engine.arithmetic.forms.video import video

FAMILIES = {
    "integer": integer_forms,
    "real": real_forms,
    "convert": convert_forms,
    "compare": compare_forms,
    "video": video,
    "approximate": approximate_forms,
}
"""Each gives its forms; all but the approximate ones have one right result."""


def forms_of(family: str) -> list[Form]:
    """The forms of a family, each once."""
    return list({one.name: one for one in FAMILIES[family]()}.values())
