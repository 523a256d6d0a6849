# seeks: none
# A table function shows what the Python of others has logged.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT * FROM python_worker_logs()"]))
