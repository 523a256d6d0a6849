# seeks: network
# The object store of Arrow, at an address of one's own.
import pyarrow as pa
from pyarrow import fs


def model(tg):
    store = fs.S3FileSystem(
        endpoint_override="127.0.0.1:SECRET_PORT", scheme="http", anonymous=True, connect_timeout=2, request_timeout=2,
        region="us-east-1",
    )
    return pa.table({"got": [str(store.get_file_info("bucket/x"))]})
