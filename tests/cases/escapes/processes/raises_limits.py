# seeks: none
# Limits are raised, and those of others changed.
import pyarrow as pa
import resource


def model(tg):
    said = []
    for number in range(16):
        try:
            resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            said.append(f"{number}: {resource.getrlimit(number)}")
        except (OSError, ValueError) as error:
            said.append(f"{number}: {error}")
    try:
        resource.prlimit(VICTIM_PID, resource.RLIMIT_NOFILE, (0, 0))
    except OSError as error:
        said.append(str(error))
    return pa.table({"got": said})
