# seeks: file
# A module's own __getattr__ and __class__: whoever looks for the model in it runs code.
import sys
import types

import pyarrow as pa


class Module(types.ModuleType):
    @property
    def result(self):
        return pa.table({"got": [open("SECRET_FILE").read()]})


sys.modules[__name__].__class__ = Module
