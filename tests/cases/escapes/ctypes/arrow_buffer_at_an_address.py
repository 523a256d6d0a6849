# seeks: environment
# Arrow makes a buffer of any address, here of the process' own memory.
import pyarrow as pa


def model(tg):
    for line in open("/proc/self/maps"):
        if "[stack]" in line:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            text = pa.foreign_buffer(first, last - first).to_pybytes()
            at = text.find(b"SECRET_VARIABLE=")
            return pa.table({"got": [str(text[at : at + 200]) if at >= 0 else "nothing"]})
