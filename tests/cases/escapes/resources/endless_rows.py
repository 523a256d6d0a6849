# seeks: none
# A reader of batches that never ends.
# check: accepts
import pyarrow as pa


def model(tg):
    schema = pa.schema([("got", pa.int64())])

    def batches():
        while True:
            yield pa.record_batch([pa.array(range(1 << 16))], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
