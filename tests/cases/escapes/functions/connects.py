# seeks: network
# A function that fetches a report may want to; in the sandbox it cannot.
# as: function
import socket


def FUNCTION_NAME():
    with socket.create_connection(("127.0.0.1", SECRET_PORT), 3) as link:
        return [{"got": link.recv(200).decode()}]
