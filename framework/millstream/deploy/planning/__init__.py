"""Plans a deployment: computes stages from records and an intent, without changing anything.

`fit_job` lets queries keep the SQL that runs, `plan_stages` asks `rebuild_verdict` for each query, and that
asks `judge_checkpoint`, which compares the signatures of both versions by `queries.verdict`.
"""
