# seeks: file
# A data source in Python runs on the server.
from pyspark.sql.datasource import DataSource, DataSourceReader


class Reads(DataSourceReader):
    def read(self, partition):
        yield (open("SECRET_FILE").read(),)


class Source(DataSource):
    def schema(self):
        return "got STRING"

    def reader(self, schema):
        return Reads()


def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.dataSource.register(Source)
    return session.read.format("Source").load()
