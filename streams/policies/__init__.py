"""The policies of tenants: :mod:`.topic` keeps them, :mod:`.known` follows them, :mod:`.expiring_index` leaves
out of an index what they no longer show.
"""
