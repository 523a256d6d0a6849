# seeks: file
# A zone that leads up and out.
# check: accepts
def model(tg):
    return tg.landing_zone("../../../../../../../../../SECRET_FILE")
