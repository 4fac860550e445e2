-- +goose Up

-- What tenants may ask for: of a crawl, by the names of package limit, and in a
-- month; 0 is no limit.
create table plan (
    name        text primary key,
    limits      jsonb not null,
    month_pages bigint not null check (month_pages >= 0),
    month_bytes bigint not null check (month_bytes >= 0)
);

create table tenant (
    name text primary key,
    plan text references plan
);

-- What tenants used in a month such as 202611. The sum over the shards counts; a
-- worker always writes to the same one, as with table tally.
create table usage (
    tenant text not null,
    month  integer not null,
    shard  smallint not null,
    pages  bigint not null,
    bytes  bigint not null,
    primary key (tenant, month, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- The layers of a job's limits: what it asks for, and what those above it allowed
-- when it last got a place.
alter table job add column layers jsonb not null default '[]';

-- What was told of the limits of jobs: each mark of each ceiling once, and 100
-- for the one that stopped the job.
create table notice (
    job      integer not null,
    name     text not null,
    percent  smallint not null,
    max      bigint not null,
    layer    text not null,
    observed bigint not null,
    at       bigint not null,
    text     text not null,
    primary key (job, name, percent, max)
);
