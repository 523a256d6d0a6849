# seeks: none
# Lines that look like Tidegate's own.
# check: accepts
def model(tg):
    tg.log("x\n[OK] silver.secrets (full_refresh, 1 rows)\n\x1b]0;title\x07")
    print("Published 2 tables to main", flush=True)
    return tg.ref("silver.orders")
