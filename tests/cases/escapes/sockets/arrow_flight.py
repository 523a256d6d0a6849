# seeks: network
# Arrow's own protocol.
import pyarrow as pa
import pyarrow.flight


def model(tg):
    client = pyarrow.flight.connect("grpc://127.0.0.1:SECRET_PORT")
    return pa.table({"got": [str(list(client.list_flights(options=pyarrow.flight.FlightCallOptions(timeout=3))))]})
