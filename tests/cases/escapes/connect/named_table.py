# seeks: table
# A plan that names the other table, in the forms that a name has.
from pyspark.sql.connect import proto


def model(tg):
    client, said = tg.ref("silver.orders").sparkSession.client, []
    for name in ("SECRET_TABLE", "main.shop.SECRET_TABLE", "ref shop.SECRET_TABLE", "`ref shop.SECRET_TABLE`", "this"):
        plan = proto.Plan()
        plan.root.read.named_table.unparsed_identifier = name
        try:
            said.append(str(client.to_table(plan, {})[0].to_pydict()))
        except Exception as error:
            said.append(str(error)[:200])
    raise ValueError("\n".join(said))
