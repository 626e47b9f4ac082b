"""A candidate on files: `solve` in NumPy, standing in for an executor and its buffers."""

import numpy as np

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.dtypes import NUMPY
from cudanalyst.kernels.inputs import nbytes_of, shape_of
from cudanalyst.tools.cases import GUARD_BYTES, schedule_verification
from cudanalyst.tools.gpu.oracle_messages import BufferAt

CATALOGUE = Catalogue()
SECRET = b"a secret of the tests"


def schedule_of(problem_id, sizes, seeds=2, group="test", secret=SECRET):
    problem = CATALOGUE.problem(problem_id)
    return schedule_verification(problem, group, sizes, labels=("c1", "0"), seeds=seeds, secret=secret)


class OnFiles:
    """`solve(arrays)` is called with writable views of the buffers' bodies, by name."""

    def __init__(self, problem_id, sizes, folder, solve, refuse_handles=False):
        self.problem = CATALOGUE.problem(problem_id)
        self.folder = CATALOGUE.entry(problem_id).folder
        self.sizes, self.solve, self.refuse_handles = sizes, solve, refuse_handles
        self.calls, self.asked = 0, []
        self.parameters = [item for item in self.problem.parameters if item.role != "scalar"]
        self.paths = {item.name: folder / f"{item.name}.bin" for item in self.parameters}

    def at(self):
        return {name: BufferAt(path=str(path)) for name, path in self.paths.items()}

    def whole(self, name):
        return np.memmap(self.paths[name], dtype=np.uint8, mode="r+")

    def bodies(self):
        found = {}
        for item in self.parameters:
            body = self.whole(item.name)[GUARD_BYTES : GUARD_BYTES + nbytes_of(item, self.sizes)]
            found[item.name] = body.view(NUMPY[item.dtype]).reshape(shape_of(item, self.sizes))
        return found

    async def shared(self, *, files):
        self.asked.append(files)
        if self.refuse_handles and not files:
            return {name: BufferAt(handle="00" * 64, offset=GUARD_BYTES) for name in self.paths}
        return self.at()

    async def load(self):
        pass

    async def call(self, call):
        self.calls += 1
        return self.solve(self.bodies())

    async def store(self):
        pass
