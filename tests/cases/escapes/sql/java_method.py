# seeks: environment
# A function calls any static method of the JVM.
def model(tg):
    return tg.sql("SELECT java_method('java.lang.System', 'getenv', 'SECRET_VARIABLE') AS got")
