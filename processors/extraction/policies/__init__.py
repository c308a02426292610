"""Policies of tenants: what no note may mention (:mod:`.never`).  What a policy is: :mod:`models.policies`."""
