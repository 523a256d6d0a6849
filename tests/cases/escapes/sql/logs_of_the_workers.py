# seeks: none
# A table function shows what the Python of others has logged.
def model(tg):
    return tg.sql("SELECT * FROM python_worker_logs()")
