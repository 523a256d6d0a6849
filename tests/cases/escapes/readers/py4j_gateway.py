# seeks: environment
# A gateway to the JVM, without its token, at the ports that the JVM may listen on.
import pyarrow as pa
from py4j.java_gateway import GatewayParameters, JavaGateway


def model(tg):
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=25333))
    return pa.table({"got": [gateway.jvm.java.lang.System.getenv("SECRET_VARIABLE")]})
