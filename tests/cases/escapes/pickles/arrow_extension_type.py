# seeks: environment
# An extension type in the metadata of a table is unpickled by whoever reads the stream: the parent.
# sample: yes
# check: accepts
import pyarrow as pa


def model(tg):
    field = pa.field(
        "got",
        pa.string(),
        metadata={
            b"ARROW:extension:name": b"arrow.py_extension_type",
            b"ARROW:extension:metadata": b"cos\ngetenv\n(VSECRET_VARIABLE\ntR.",
        },
    )
    return pa.Table.from_arrays([pa.array(["x"])], schema=pa.schema([field]))
