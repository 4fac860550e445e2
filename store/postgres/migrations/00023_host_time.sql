-- +goose Up

-- How long hosts of a job were in one state, in microseconds. Each worker adds to its own
-- shard, as with table tally.
create table host_time (
    job   integer not null,
    shard smallint not null,
    state text not null,
    spent bigint not null,
    primary key (job, shard, state)
) with (fillfactor = 50);
