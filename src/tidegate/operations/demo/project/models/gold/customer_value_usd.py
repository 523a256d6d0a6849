# @description: The same in dollars. It reads a variable of the machine, so tidegate.toml trusts it
import os

from pyspark.sql import functions as F


def model(tg):
    rate = F.lit(os.environ.get("SHOP_USD_RATE", "1.10")).cast("decimal(6,4)")
    dollars = (F.col("ordered") * rate).cast("decimal(12,2)")
    return tg.ref("gold.customer_value").select("customer_id", "name", dollars.alias("ordered"))
