-- One partition of a shelf; {p} of {n}. Queues turn over, so they are vacuumed
-- early; the other two only grow, and are vacuumed for the sake of readers.
create table url_{s}_{p} partition of url_{s} for values with (modulus {n}, remainder {p})
    with (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
create table queue_{s}_{p} partition of queue_{s} for values with (modulus {n}, remainder {p})
    with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 1, autovacuum_analyze_scale_factor = 0.5);
create table outcome_{s}_{p} partition of outcome_{s} for values with (modulus {n}, remainder {p})
    with (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
