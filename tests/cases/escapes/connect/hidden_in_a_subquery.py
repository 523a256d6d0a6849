# seeks: file
# A relation that nothing reads but an expression, which refers to it by its number.
# sample: yes
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    outer = plan.root.with_relations
    outer.root.common.plan_id = 1
    outer.root.project.input.range.end = 1
    outer.root.project.input.range.step = 1
    outer.root.project.expressions.add().subquery_expression.plan_id = 7
    outer.root.project.expressions[0].subquery_expression.subquery_type = 1
    inner = outer.references.add()
    inner.common.plan_id = 7
    inner.read.data_source.format = "text"
    inner.read.data_source.paths.append("SECRET_FILE")
    return client.to_table(plan, {})[0]
